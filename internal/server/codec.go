package server

import (
	"encoding/json"
	"fmt"

	"connectrpc.com/vanguard"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
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

// Unmarshal decodes a message. What the contract does not know makes it
// unreadable, which the dispatcher answers.
func (c strictJSON) Unmarshal(data []byte, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no message", v)
	}
	if len(data) == 0 {
		makeUnreadable(m, emptyBody)
		return nil
	}
	if err := protojson.Unmarshal(data, m); err != nil {
		makeUnreadable(m, badJSON(m, err))
	}
	return nil
}

// strictBinary is protobuf's binary form. Its unknown fields are the
// validator's to refuse.
type strictBinary struct{}

// Name is the codec's name on the wire.
func (strictBinary) Name() string { return "proto" }

// Marshal encodes a message.
func (strictBinary) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", v)
	}
	return proto.Marshal(m)
}

// MarshalAppend encodes a message behind what dst holds.
func (strictBinary) MarshalAppend(dst []byte, v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", v)
	}
	return proto.MarshalOptions{}.MarshalAppend(dst, m)
}

// Unmarshal decodes a message. Bytes that are none make it unreadable.
func (strictBinary) Unmarshal(data []byte, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no message", v)
	}
	if err := proto.Unmarshal(data, m); err != nil {
		makeUnreadable(m, badBinary(m))
	}
	return nil
}

// restJSON is the JSON of the REST paths, where the transcoder answers what it
// cannot read.
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
