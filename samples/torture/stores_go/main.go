// Stores written in Go under power loss, as in ../stores.py: what a store has answered must be there, and be whole.
//
//	(cd samples/torture/stores_go && go build -o /tmp/stores)
//	nandarium torture --mount ext4 --atomic 4KiB --prepare '/tmp/stores bbolt prepare' --workload '/tmp/stores bbolt append' \
//	    --check '/tmp/stores bbolt verify'
//
// `append careless` sets NoSync in bbolt, the store of etcd. In BadgerDB it does not set SyncWrites, which is off by default.
package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	badger "github.com/dgraph-io/badger/v4"
	bbolt "go.etcd.io/bbolt"
)

const transactions = 30

func value(number int) string { return strings.Repeat(fmt.Sprintf("%d ", number), 1200) }

func key(number int) string { return fmt.Sprintf("%04d", number) }

// A store that is open. Opening it recovers it.
type store interface {
	// One transaction. It returns once the store has answered.
	put(key, value string, count int) error
	// The value, or "" if there is none.
	get(key string) (string, error)
	Close() error
}

type boltStore struct{ *bbolt.DB }

func openBolt(path string, durable bool) (store, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: !durable})
	if err != nil {
		return nil, err
	}
	return boltStore{db}, db.Update(func(tx *bbolt.Tx) error {
		for problem := range tx.Check() {
			return problem
		}
		_, err := tx.CreateBucketIfNotExists([]byte("kept"))
		return err
	})
}

func (db boltStore) put(key, value string, count int) error {
	return db.Update(func(tx *bbolt.Tx) error {
		kept := tx.Bucket([]byte("kept"))
		if err := kept.Put([]byte(key), []byte(value)); err != nil {
			return err
		}
		return kept.Put([]byte("count"), []byte(fmt.Sprint(count)))
	})
}

func (db boltStore) get(key string) (found string, err error) {
	return found, db.View(func(tx *bbolt.Tx) error {
		found = string(tx.Bucket([]byte("kept")).Get([]byte(key)))
		return nil
	})
}

type badgerStore struct{ *badger.DB }

func openBadger(path string, durable bool) (store, error) {
	// Small buffers, so that tables are also written while transactions go on.
	options := badger.DefaultOptions(path).WithSyncWrites(durable).WithLogger(nil).WithNumCompactors(2).
		WithMemTableSize(1 << 16).WithValueThreshold(1 << 13).WithValueLogFileSize(1 << 20).WithBlockCacheSize(1 << 20)
	db, err := badger.Open(options)
	return badgerStore{db}, err
}

func (db badgerStore) put(key, value string, count int) error {
	return db.Update(func(txn *badger.Txn) error {
		if err := txn.Set([]byte(key), []byte(value)); err != nil {
			return err
		}
		return txn.Set([]byte("count"), []byte(fmt.Sprint(count)))
	})
}

func (db badgerStore) get(key string) (found string, err error) {
	return found, db.View(func(txn *badger.Txn) error {
		item, err := txn.Get([]byte(key))
		if err == badger.ErrKeyNotFound {
			return nil
		} else if err != nil {
			return err
		}
		return item.Value(func(value []byte) error { found = string(value); return nil })
	})
}

var stores = map[string]func(string, bool) (store, error){"bbolt": openBolt, "badger": openBadger}

func do(arguments []string) error {
	path := filepath.Join(os.Getenv("NANDARIUM_MOUNT"), "store")
	db, err := stores[arguments[0]](path, len(arguments) < 3 || arguments[2] != "careless")
	if err != nil {
		return err
	}
	switch arguments[1] {
	case "prepare":
		err = db.Close()
		syscall.Sync()
		return err
	case "append":
		// The process ends without closing the store, as a crash would end it.
		for number := range transactions {
			if err := db.put(key(number), value(number), number+1); err != nil {
				return err
			}
			fmt.Println(number)
		}
		return nil
	}
	return verify(db)
}

func verify(db store) error {
	said, err := os.Open(os.Getenv("NANDARIUM_SAID"))
	if err != nil {
		return err
	}
	promised, count := 0, 0
	for lines := bufio.NewScanner(said); lines.Scan(); promised++ {
	}
	text, err := db.get("count")
	fmt.Sscan(text, &count)
	for number := range transactions {
		wanted := ""
		if number < count {
			wanted = value(number)
		}
		found, err := db.get(key(number))
		if err != nil {
			return fmt.Errorf("value %d: %w", number, err)
		} else if found != wanted {
			return fmt.Errorf("%d transactions are counted, and value %d has %d bytes, not %d or others", count, number, len(found), len(wanted))
		}
	}
	if count < promised {
		return fmt.Errorf("%d transactions were answered, and %d are there", promised, count)
	}
	return err
}

func main() {
	fail := func(problem any) {
		fmt.Fprintln(os.Stderr, problem)
		os.Exit(1)
	}
	// A damaged file may end in a panic of the store.
	defer func() {
		if problem := recover(); problem != nil {
			fail(problem)
		}
	}()
	if err := do(os.Args[1:]); err != nil {
		fail(err)
	}
}
