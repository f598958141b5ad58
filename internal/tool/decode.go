package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/near"
)

// Decode fills args, a pointer to a struct with json names, from a call. A field
// without `omitempty` is required; null counts as absent. It answers nil, or a
// Result with IsError that names each wrong field, what it should be and what
// the tool takes. Names must agree in letter case, and none may come twice.
//
// Fields may be strings, integers, floats, booleans and lists of them, pointers
// to those where absence matters, and lists of structs of such fields, whose
// places are told as `list[2].field`, counted from 0.
func Decode(call Call, args any) *Result {
	d := decoder{fields: fieldsOf(reflect.ValueOf(args).Elem())}
	raw := bytes.TrimSpace(call.Args)
	if len(raw) == 0 || string(raw) == "null" {
		raw = []byte("{}")
	}
	if problem := d.object(raw); problem != "" {
		return d.refuse(problem)
	}
	if len(d.problems) > 0 {
		return d.refuse(joined(d.problems))
	}
	return nil
}

// mostProblems of one call that are told.
const mostProblems = 8

func joined(problems []string) string {
	if more := len(problems) - mostProblems; more > 0 {
		problems = append(slices.Clone(problems[:mostProblems]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(problems, "; ")
}

// field is one argument.
type field struct {
	name     string
	form     string // what it must be, for people: `text`
	required bool
	given    bool
	value    reflect.Value
}

// fieldsOf lists the arguments that a struct describes.
func fieldsOf(v reflect.Value) []*field {
	var all []*field
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		all = append(all, &field{
			name: name, form: form(v.Field(i).Type()), value: v.Field(i),
			required: !strings.Contains(options, "omitempty"),
		})
	}
	return all
}

// form says what values a type has.
func form(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return form(t.Elem())
	case reflect.String:
		return "text"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list, each element " + form(t.Elem())
	case reflect.Struct:
		return "an object of " + takes(fieldsOf(reflect.New(t).Elem()))
	}
	panic("tool: arguments of type " + t.String() + " are not supported")
}

// decoder collects what is wrong with one call's arguments.
type decoder struct {
	at       string // where its object stands in the arguments: `items[2].`
	fields   []*field
	problems []string
}

// object reads one object into the fields and notes what is wrong with them. It
// answers what makes the whole unreadable.
func (d *decoder) object(raw []byte) string {
	in := json.NewDecoder(bytes.NewReader(raw))
	if t, err := in.Token(); err != nil || t != json.Delim('{') {
		if err != nil {
			return broken(err)
		}
		return "the arguments must be one JSON object, not " + kind(raw)
	}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return broken(err)
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return broken(err)
		}
		d.set(key.(string), value)
	}
	if _, err := in.Token(); err != nil {
		return broken(err)
	}
	if _, err := in.Token(); err != io.EOF {
		return "something follows the JSON object of the arguments"
	}
	for _, f := range d.fields {
		if f.required && !f.given {
			d.problem(f.name, "is missing: it must be %s", f.form)
		}
	}
	return ""
}

// problem notes what is wrong with one field.
func (d *decoder) problem(name, format string, args ...any) {
	d.problems = append(d.problems, fmt.Sprintf("`%s%.80s` ", d.at, name)+fmt.Sprintf(format, args...))
}

func broken(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the arguments are not valid JSON: they end too early"
	}
	return "the arguments are not valid JSON: " + err.Error()
}

// set takes one field.
func (d *decoder) set(name string, raw json.RawMessage) {
	i := slices.IndexFunc(d.fields, func(f *field) bool { return f.name == name })
	if i < 0 {
		what := "argument of this tool"
		if d.at != "" {
			what = "field of that object"
		}
		d.problem(name, "is no %s.%s", what, near.Hint(name, d.names()))
		return
	}
	f := d.fields[i]
	switch {
	case f.given:
		d.problem(name, "is given twice")
	case string(raw) == "null":
	default:
		f.given = true
		if f.objects() {
			d.list(f, raw)
		} else if !f.fill(raw) {
			d.problem(name, "must be %s, not %s", f.form, kind(raw))
		}
	}
}

// objects tells whether the field is a list of structs.
func (f *field) objects() bool {
	t := f.value.Type()
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}

// list takes a list of objects.
func (d *decoder) list(f *field, raw json.RawMessage) {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		d.problem(f.name, "must be %s, not %s", f.form, kind(raw))
		return
	}
	f.value.Set(reflect.MakeSlice(f.value.Type(), len(all), len(all)))
	for i, one := range all {
		name := fmt.Sprintf("%s[%d]", f.name, i)
		if one[0] != '{' {
			d.problem(name, "must be an object, not %s", kind(one))
			continue
		}
		inner := decoder{at: d.at + name + ".", fields: fieldsOf(f.value.Index(i))}
		inner.object(one) // it is valid JSON and an object
		d.problems = append(d.problems, inner.problems...)
	}
}

// fill stores a value and tells whether it fits.
func (f *field) fill(raw json.RawMessage) bool {
	to := f.value
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	if to.CanInt() {
		var n float64
		if json.Unmarshal(raw, &n) != nil || n != math.Trunc(n) || math.Abs(n) > 1<<53 {
			return false
		}
		to.SetInt(int64(n))
		return true
	}
	return json.Unmarshal(raw, to.Addr().Interface()) == nil && !hasNull(raw)
}

// hasNull finds a null in a list, which Go would take for a zero value.
func hasNull(raw json.RawMessage) bool {
	var list []json.RawMessage
	return json.Unmarshal(raw, &list) == nil &&
		slices.ContainsFunc(list, func(e json.RawMessage) bool { return string(e) == "null" })
}

// kind says what a JSON value is, and shows a short one.
func kind(raw json.RawMessage) string {
	what := "a number"
	switch raw[0] {
	case '{':
		what = "an object"
	case '[':
		what = "a list"
	case '"':
		what = "text"
	case 't', 'f':
		what = "true or false"
	case 'n':
		return "null"
	}
	if len(raw) <= 40 {
		what += " (" + string(raw) + ")"
	}
	return what
}

func (d *decoder) names() []string {
	var all []string
	for _, f := range d.fields {
		all = append(all, f.name)
	}
	return all
}

// takes describes fields: `path` (text, required).
func takes(fields []*field) string {
	var all []string
	for _, f := range fields {
		need := "optional"
		if f.required {
			need = "required"
		}
		all = append(all, fmt.Sprintf("`%s` (%s, %s)", f.name, f.form, need))
	}
	return strings.Join(all, ", ")
}

// refuse tells the problem and what the tool takes.
func (d *decoder) refuse(problem string) *Result {
	r := Fail("%s. The tool takes %s.", strings.TrimRight(problem, "."), takes(d.fields))
	return &r
}
