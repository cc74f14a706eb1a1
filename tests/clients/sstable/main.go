// Prints tables of ranges and metaranges as lines of JSON, read as lakeFS reads them: by pebble, with
// Protocol Buffers messages of its schema.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/sstable"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
)

var errTruncated = errors.New("a value ends early")

// splitValue takes a value apart into identity and message.
func splitValue(value []byte) (identity, message []byte, err error) {
	parts := make([][]byte, 2)
	for i := range parts {
		length, read := binary.Varint(value)
		if read <= 0 || length < 0 || int64(len(value)-read) < length {
			return nil, nil, errTruncated
		}
		parts[i] = value[read : read+int(length)]
		value = value[read+int(length):]
	}
	if len(value) != 0 {
		return nil, nil, errors.New("bytes follow a value")
	}
	return parts[0], parts[1], nil
}

type row struct {
	Key      []byte          `json:"key"` // base64
	Identity string          `json:"identity"`
	Message  json.RawMessage `json:"message"`
}

func decode(kind string, key, value []byte) (*row, error) {
	identity, data, err := splitValue(value)
	if err != nil {
		return nil, err
	}
	message := dynamicpb.NewMessage(schemaOf(kind))
	if err := proto.Unmarshal(data, message); err != nil {
		return nil, err
	}
	if unknown := message.GetUnknown(); len(unknown) != 0 {
		return nil, fmt.Errorf("unknown fields %x", []byte(unknown))
	}
	shown := string(identity)
	if kind == "ranges" {
		// It covers a digest that the message does not have.
		if len(identity) != sha256.Size {
			return nil, fmt.Errorf("identity of %d bytes, want %d", len(identity), sha256.Size)
		}
		shown = hex.EncodeToString(identity)
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	if err != nil {
		return nil, err
	}
	return &row{Key: key, Identity: shown, Message: text}, nil
}

func show(path string, out *json.Encoder) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	reader, err := sstable.NewReader(file, sstable.ReaderOptions{})
	if err != nil {
		return err
	}
	defer reader.Close()
	if err := reader.ValidateBlockChecksums(); err != nil {
		return err
	}
	properties := reader.Properties.UserProperties
	if err := out.Encode(map[string]any{"properties": properties, "entries": reader.Properties.NumEntries}); err != nil {
		return err
	}
	at, err := reader.NewIter(nil, nil)
	if err != nil {
		return err
	}
	defer at.Close()
	for key, lazy := at.First(); key != nil; key, lazy = at.Next() {
		value, _, err := lazy.Value(nil)
		if err != nil {
			return err
		}
		decoded, err := decode(properties["type"], key.UserKey, value)
		if err != nil {
			return fmt.Errorf("key %q: %w", key.UserKey, err)
		}
		if err := out.Encode(decoded); err != nil {
			return err
		}
	}
	return at.Error()
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	for _, path := range os.Args[1:] {
		if err := show(path, json.NewEncoder(out)); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(1)
		}
	}
	if err := out.Flush(); err != nil {
		os.Exit(1)
	}
}
