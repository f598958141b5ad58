package server

import (
	"encoding/json"
	"fmt"

	"connectrpc.com/vanguard"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/cadre-dev/cadre/internal/fault"
)

// connectMessage is what a detail of an error is made of.
type connectMessage = proto.Message

// strictJSON is the JSON of the contract: protobuf's JSON names out, both forms
// in, unknown fields refused.
type strictJSON struct{ name string }

// Name is the codec's name on the wire.
func (c strictJSON) Name() string { return c.name }

// Marshal encodes a message.
func (c strictJSON) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", v)
	}
	return protojson.Marshal(m)
}

// Unmarshal decodes a message and refuses what the contract does not know.
func (c strictJSON) Unmarshal(data []byte, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no message", v)
	}
	if len(data) == 0 {
		return fault.New(fault.InvalidArgument, "EMPTY_BODY", "the body is empty; send at least {}")
	}
	return protojson.Unmarshal(data, m)
}

// restJSON is the same for the REST paths.
func restJSON(res vanguard.TypeResolver) vanguard.Codec {
	c := vanguard.NewJSONCodec(res)
	c.MarshalOptions = protojson.MarshalOptions{Resolver: res}
	c.UnmarshalOptions = protojson.UnmarshalOptions{Resolver: res}
	return c
}

// anyJSON encodes a message with its type's name.
func anyJSON(m proto.Message) (json.RawMessage, error) {
	a, err := anypb.New(m)
	if err != nil {
		return nil, err
	}
	return protojson.Marshal(a)
}
