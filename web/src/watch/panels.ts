import { causeInk } from "../causes";
import { axisTime, compact, plain, rate, time } from "../format";
import { READ, WRITE } from "../theme";
import type { Num, Op } from "../types";
import type { Curve, Panel } from "./charts";
import { depth, perSecond, recent } from "./interval";
import type { Live } from "./types";

const speed =
  (of: (live: Live) => number) =>
  (answers: readonly Live[]): Num => {
    const [older, newer] = [answers.at(-2), answers.at(-1)];
    return older && newer ? perSecond(newer, older, of) : null;
  };

const latency = (op: Op, colour: string): Curve[] =>
  [
    { label: "p50", key: "p50" },
    { label: "p99", key: "p99", dash: [6, 3] },
    { label: "p99.9", key: "p999", dash: [2, 3] },
  ].map(({ label, key, ...rest }) => ({ label, color: colour, of: (answers) => recent(answers, op, key), ...rest }));

/** Curves of what is known of requests alone. */
export const REQUEST_PANELS: readonly Panel[] = [
  {
    title: "Requests a second",
    curves: [
      { label: "read", color: READ, of: speed((live) => live.requests.read.requests) },
      { label: "write", color: WRITE, dash: [6, 3], of: speed((live) => live.requests.write.requests) },
      { label: "read of unwritten pages", color: READ, dash: [2, 3], of: speed((live) => live.requests.unwritten_read.requests) },
      { label: "trim, flush", color: "muted", dash: [2, 3], of: speed((live) => live.requests.trim.requests + live.requests.flush.requests) },
    ],
    format: plain,
    axis: compact,
    scale: "linear",
  },
  {
    title: "Bytes a second",
    curves: [
      { label: "read", color: READ, of: speed((live) => live.requests.read.bytes) },
      { label: "write", color: WRITE, dash: [6, 3], of: speed((live) => live.requests.write.bytes) },
    ],
    format: rate,
    axis: compact,
    scale: "linear",
  },
  { title: "Latency of writes", curves: latency("write", WRITE), format: time, axis: axisTime, scale: "log" },
  { title: "Latency of reads", curves: latency("read", READ), format: time, axis: axisTime, scale: "log" },
];

/** Curves of a served drive. */
export const DRIVE_PANELS: readonly Panel[] = [
  ...REQUEST_PANELS,
  {
    title: "Queue depth, mean",
    curves: [
      {
        label: "requests",
        color: "muted",
        of: (answers) => {
          const [older, newer] = [answers.at(-2), answers.at(-1)];
          return older && newer ? depth(newer, older) : null;
        },
      },
    ],
    format: plain,
    axis: compact,
    scale: "linear",
  },
  {
    title: "Flash programs a second",
    curves: [
      { label: "host", color: causeInk("host"), of: speed((live) => live.flash.programs["host"] ?? 0) },
      { label: "gc", color: causeInk("gc"), dash: [6, 3], of: speed((live) => live.flash.programs["gc"] ?? 0) },
    ],
    format: plain,
    axis: compact,
    scale: "linear",
  },
];
