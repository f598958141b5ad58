package cli

import (
	"context"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/cadre-dev/cadre/gen/go/rpc"
	"github.com/cadre-dev/cadre/internal/near"
	"github.com/cadre-dev/cadre/internal/resource"
)

// call invokes any unary method of the contract by its procedure.
func (cl *client) call(ctx context.Context, procedure string, in proto.Message) (proto.Message, error) {
	opts := append([]connect.ClientOption{
		connect.WithCodec(anyCodec{}),
		connect.WithResponseInitializer(func(spec connect.Spec, m any) error {
			out, err := outputOf(spec.Procedure)
			if err == nil {
				m.(*anyMessage).Message = out
			}
			return err
		}),
	}, cl.opts...)
	res, err := connect.NewClient[anyMessage, anyMessage](cl.http, cl.url+procedure, opts...).CallUnary(ctx, connect.NewRequest(&anyMessage{in}))
	if err != nil {
		return nil, err
	}
	return res.Msg.Message, nil
}

// anyMessage carries a message whose type only the procedure knows.
type anyMessage struct{ proto.Message }

type anyCodec struct{}

// Name is protobuf's binary form.
func (anyCodec) Name() string { return "proto" }

// Marshal encodes the message inside.
func (anyCodec) Marshal(v any) ([]byte, error) { return proto.Marshal(v.(*anyMessage).Message) }

// Unmarshal decodes into the message inside.
func (anyCodec) Unmarshal(data []byte, v any) error {
	return proto.Unmarshal(data, v.(*anyMessage).Message)
}

func outputOf(procedure string) (proto.Message, error) {
	for _, m := range rpc.Methods {
		if m.Procedure == procedure {
			t, err := protoregistry.GlobalTypes.FindMessageByName(m.Descriptor.Output().FullName())
			if err != nil {
				return nil, err
			}
			return t.New().Interface(), nil
		}
	}
	return nil, fmt.Errorf("%s is not in the contract", procedure)
}

// methodOf finds a method of the kind's service.
func methodOf(k resource.Kind, method string) (rpc.Method, bool) {
	want := protoreflect.Name(resource.Meta(k).GetName() + "Service")
	for _, m := range rpc.Methods {
		if m.Service.Name() == want && string(m.Name) == method {
			return m, true
		}
	}
	return rpc.Method{}, false
}

// shorter are words for kinds that only the command line knows.
var shorter = map[string]string{"execution": "agentexecution", "executions": "agentexecution", "org": "organization", "orgs": "organization"}

// kindArg reads a kind from the command line and finds its method.
func kindArg(word, method string) (resource.Kind, rpc.Method, error) {
	names := kindNames(method)
	name := word
	if long := shorter[strings.ToLower(word)]; long != "" {
		name = long
	}
	k, ok := resource.ParseKind(name)
	if !ok {
		return 0, rpc.Method{}, usage("there is no kind %q.%s The kinds are %s", word, near.Hint(word, names), strings.Join(names, ", "))
	}
	m, ok := methodOf(k, method)
	if resource.Meta(k).GetCloudOnly() {
		return 0, m, elsewhere{k}
	}
	if !ok {
		return 0, m, usage("%s cannot be used with %s: not built yet. What can be is %s", strings.ToLower(method), resource.Meta(k).GetPlural(), strings.Join(names, ", "))
	}
	return k, m, nil
}

// elsewhere is a kind that another edition serves.
type elsewhere struct{ kind resource.Kind }

func (e elsewhere) Error() string {
	return fmt.Sprintf("unimplemented: %s are served by the cloud edition alone", resource.Meta(e.kind).GetPlural())
}

// kindNames are the plurals of the kinds that have a method.
func kindNames(method string) []string {
	var names []string
	for _, k := range resource.Kinds() {
		if _, ok := methodOf(k, method); ok {
			names = append(names, resource.Meta(k).GetPlural())
		}
	}
	return names
}
