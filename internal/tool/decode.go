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
// Fields may be strings, integers, floats, booleans and lists of them, and
// pointers to those where absence matters.
func Decode(call Call, args any) *Result {
	v := reflect.ValueOf(args).Elem()
	d := decoder{fields: fieldsOf(v)}
	raw := bytes.TrimSpace(call.Args)
	if len(raw) == 0 || string(raw) == "null" {
		raw = []byte("{}")
	}
	if problem := d.object(raw); problem != "" {
		return d.refuse(problem)
	}
	var missing []string
	for _, f := range d.fields {
		if f.required && !f.given {
			missing = append(missing, fmt.Sprintf("`%s` is missing: it must be %s", f.name, f.form))
		}
	}
	if all := append(d.problems, missing...); len(all) > 0 {
		return d.refuse(strings.Join(all, "; "))
	}
	return nil
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
	}
	panic("tool: arguments of type " + t.String() + " are not supported")
}

// decoder collects what is wrong with one call's arguments.
type decoder struct {
	fields   []*field
	problems []string
}

// object reads the outer braces. It answers what makes the whole unreadable.
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
	return ""
}

func broken(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the arguments are not valid JSON: they end too early"
	}
	return "the arguments are not valid JSON: " + err.Error()
}

// set takes one argument.
func (d *decoder) set(name string, raw json.RawMessage) {
	i := slices.IndexFunc(d.fields, func(f *field) bool { return f.name == name })
	if i < 0 {
		d.problems = append(d.problems, fmt.Sprintf("`%.80s` is no argument of this tool.%s", name, near.Hint(name, d.names())))
		return
	}
	f := d.fields[i]
	switch {
	case f.given:
		d.problems = append(d.problems, fmt.Sprintf("`%s` is given twice", name))
	case string(raw) == "null":
	case !f.fill(raw):
		d.problems = append(d.problems, fmt.Sprintf("`%s` must be %s, not %s", name, f.form, kind(raw)))
		f.given = true
	default:
		f.given = true
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

// refuse tells the problem and what the tool takes.
func (d *decoder) refuse(problem string) *Result {
	var takes []string
	for _, f := range d.fields {
		need := "optional"
		if f.required {
			need = "required"
		}
		takes = append(takes, fmt.Sprintf("`%s` (%s, %s)", f.name, f.form, need))
	}
	r := Fail("%s. The tool takes %s.", strings.TrimRight(problem, "."), strings.Join(takes, ", "))
	return &r
}
