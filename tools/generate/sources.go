package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	_ "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate" // links buf/validate/validate.proto
	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	_ "google.golang.org/genproto/googleapis/api/annotations" // links google/api/*.proto
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	_ "google.golang.org/protobuf/types/known/anypb"       // links google/protobuf/any.proto
	_ "google.golang.org/protobuf/types/known/durationpb"  // links google/protobuf/duration.proto
	_ "google.golang.org/protobuf/types/known/emptypb"     // links google/protobuf/empty.proto
	_ "google.golang.org/protobuf/types/known/fieldmaskpb" // links google/protobuf/field_mask.proto
	_ "google.golang.org/protobuf/types/known/structpb"    // links google/protobuf/struct.proto
	_ "google.golang.org/protobuf/types/known/timestamppb" // links google/protobuf/timestamp.proto
	_ "google.golang.org/protobuf/types/known/wrapperspb"  // links google/protobuf/wrappers.proto
)

// goRoot is the import path below which the generated Go packages live.
const goRoot = "github.com/cadre-dev/cadre/gen/go"

// sources is the compiled contract.
type sources struct {
	// own holds the repository's files in the order of their paths. Their
	// options are typed: extensions that this program links can be read.
	own []protoreflect.FileDescriptor
	// all holds own and every import, each after what it imports, with a
	// go_package in every file of our own.
	all []*descriptorpb.FileDescriptorProto
	// text holds the source text of own files by path.
	text map[string]string
}

// compile parses and links every .proto file under dir.
func compile(ctx context.Context, dir string) (*sources, error) {
	src := &sources{text: map[string]string{}}
	names, err := src.find(dir)
	if err != nil {
		return nil, err
	}
	compiler := protocompile.Compiler{
		Resolver: protocompile.CompositeResolver{
			&protocompile.SourceResolver{ImportPaths: []string{dir}},
			protocompile.ResolverFunc(linkedIn),
		},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, names...)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, f := range files {
		if err := src.add(f, seen); err != nil {
			return nil, err
		}
	}
	return src, src.link(names)
}

// find lists the .proto files under dir, slash-separated and sorted.
func (s *sources) find(dir string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(p) != ".proto" {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		s.text[name] = string(b)
		names = append(names, name)
		return nil
	})
	sort.Strings(names)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("no .proto file under %s", dir)
	}
	return names, err
}

// linkedIn answers imports from the descriptors that this program links.
func linkedIn(path string) (protocompile.SearchResult, error) {
	fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
	if err != nil {
		return protocompile.SearchResult{}, err
	}
	return protocompile.SearchResult{Desc: fd}, nil
}

// add appends f's imports and then f to all, once.
func (s *sources) add(f protoreflect.FileDescriptor, seen map[string]bool) error {
	if seen[f.Path()] {
		return nil
	}
	seen[f.Path()] = true
	for i := range f.Imports().Len() {
		if err := s.add(f.Imports().Get(i).FileDescriptor, seen); err != nil {
			return err
		}
	}
	fdp := proto.Clone(protoutil.ProtoFromFileDescriptor(f)).(*descriptorpb.FileDescriptorProto)
	if _, ours := s.text[f.Path()]; ours {
		if fdp.GetOptions().GetGoPackage() != "" {
			return fmt.Errorf("%s: the generator sets go_package; remove the option", f.Path())
		}
		if fdp.Options == nil {
			fdp.Options = &descriptorpb.FileOptions{}
		}
		pkg, err := goPackageOf(f.Path())
		if err != nil {
			return err
		}
		fdp.Options.GoPackage = proto.String(pkg.path + ";" + pkg.name)
	}
	s.all = append(s.all, fdp)
	return nil
}

// link builds own from all. Going through bytes gives options their linked
// types, and our own options, which nothing links, a dynamic one: the compiler
// leaves both in a form of its own.
func (s *sources) link(names []string) error {
	b, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: s.all})
	if err != nil {
		return err
	}
	plain, err := readFiles(b, protoregistry.GlobalTypes)
	if err != nil {
		return err
	}
	files, err := readFiles(b, linkedFirst{dynamicpb.NewTypes(plain)})
	if err != nil {
		return err
	}
	for _, name := range names {
		fd, err := files.FindFileByPath(name)
		if err != nil {
			return err
		}
		s.own = append(s.own, fd)
	}
	return nil
}

// extensionResolver finds the types of options.
type extensionResolver interface {
	FindExtensionByName(protoreflect.FullName) (protoreflect.ExtensionType, error)
	FindExtensionByNumber(protoreflect.FullName, protoreflect.FieldNumber) (protoreflect.ExtensionType, error)
}

// readFiles links a FileDescriptorSet whose options have the resolver's types.
func readFiles(set []byte, r extensionResolver) (*protoregistry.Files, error) {
	var fds descriptorpb.FileDescriptorSet
	if err := (proto.UnmarshalOptions{Resolver: r}).Unmarshal(set, &fds); err != nil {
		return nil, err
	}
	return protodesc.NewFiles(&fds)
}

// linkedFirst finds the linked types first and then those of a contract.
type linkedFirst struct {
	own *dynamicpb.Types
}

func (l linkedFirst) FindExtensionByName(name protoreflect.FullName) (protoreflect.ExtensionType, error) {
	if t, err := protoregistry.GlobalTypes.FindExtensionByName(name); err == nil {
		return t, nil
	}
	return l.own.FindExtensionByName(name)
}

func (l linkedFirst) FindExtensionByNumber(name protoreflect.FullName, n protoreflect.FieldNumber) (protoreflect.ExtensionType, error) {
	if t, err := protoregistry.GlobalTypes.FindExtensionByNumber(name, n); err == nil {
		return t, nil
	}
	return l.own.FindExtensionByNumber(name, n)
}

// internal tells whether a file is spoken between Cadre's own programs alone: it has no
// REST form and no place in the documentation.
func internal(path string) bool { return strings.HasPrefix(path, "cadre/runtime/") }

// public is the contract without what Cadre's own programs say to one another.
func (s *sources) public() *sources {
	c := *s
	c.own = slices.DeleteFunc(slices.Clone(s.own), func(f protoreflect.FileDescriptor) bool { return internal(f.Path()) })
	return &c
}

// goPackage is where the Go code of a .proto file goes.
type goPackage struct {
	path string // import path
	name string // package name
}

// goPackageOf maps cadre/<group>/<noun>/v1/x.proto to its Go package, whose
// name is <noun>v1.
func goPackageOf(file string) (goPackage, error) {
	parts := strings.Split(file, "/")
	if len(parts) < 4 {
		return goPackage{}, fmt.Errorf("%s: a .proto file lives in cadre/<group>/<noun>/<version>/", file)
	}
	folder := parts[:len(parts)-1]
	n := len(folder)
	return goPackage{
		path: goRoot + "/" + strings.Join(folder, "/"),
		name: folder[n-2] + folder[n-1],
	}, nil
}
