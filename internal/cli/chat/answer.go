package chat

// answer is one text of the model on its way: bytes that are durable, and behind
// them bytes that were shown before they are. Positions count bytes.
//
// What is durable never changes. A durable piece replaces what was shown at its
// place; a new attempt voids what never became durable.
type answer struct {
	durable string
	shown   string // continues durable
	done    bool
}

func (a *answer) text() string { return a.durable + a.shown }

// show takes a piece in that is not durable yet. One that leaves a gap is left
// out: the durable piece that fills it brings it. It answers whether anything changed.
func (a *answer) show(offset int64, text string) bool {
	has := int64(len(a.durable) + len(a.shown))
	if a.done || offset < 0 || offset > has || offset+int64(len(text)) <= has {
		return false
	}
	a.shown += text[has-offset:]
	return true
}

// keep takes a durable piece in.
func (a *answer) keep(offset int64, text string) {
	has := int64(len(a.durable))
	end := offset + int64(len(text))
	if a.done || offset < 0 || offset > has || end <= has {
		return
	}
	fresh := text[has-offset:]
	a.durable += fresh
	if len(a.shown) <= len(fresh) {
		a.shown = ""
		return
	}
	if a.shown[:len(fresh)] != fresh {
		a.shown = "" // what was shown is not what came to be
		return
	}
	a.shown = a.shown[len(fresh):]
}

// end takes the whole text in.
func (a *answer) end(text string) { *a = answer{durable: text, done: true} }

// void drops what never became durable, and says whether there was any.
func (a *answer) void() bool {
	had := a.shown != ""
	a.shown = ""
	return had
}
