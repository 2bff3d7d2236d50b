/** Names of stacks, cut to the parts in which they differ: `page` and `ftl.gc.victim=fifo` for `page` and `page+ftl.gc.victim=fifo`. */
export function cutNames(names: readonly string[]): string[] {
  const split = names.map((name) => name.split("+"));
  const isShared = (part: string): boolean => split.every((parts) => parts.includes(part));
  const cut = split.map((parts, at) => parts.filter((part) => !isShared(part)).join("+") || (names[at] ?? ""));
  return names.length > 1 && new Set(cut).size === names.length ? cut : [...names];
}
