package search

// What a word of the query is worth, by where it was found. A word in none of the
// fields is in the text.
const (
	inName        = 1.0
	nameBegins    = 0.9 // it is the beginning of a word of the name
	inTags        = 0.7
	inDescription = 0.5
	inText        = 0.3
	// wholeName is the part of a name's worth that depends on how much of the name was asked for.
	wholeName = 0.15
)

// Score says how well a document that has all words of the query fits: the mean of what
// they are worth, above 0 and at most 1. It depends on nothing but the two, so that
// every driver gives the same, today and tomorrow.
func (q Query) Score(name, slug, tags, description string) float64 {
	if len(q.Words) == 0 {
		return 1
	}
	names := Words(name, slug)
	var tagged, described []string
	sum, asked := 0.0, 0
	for i := range q.Words {
		switch worth, whole := q.worthOfName(i, names); {
		case worth > 0:
			sum += worth
			asked += whole
			continue
		}
		if tagged == nil {
			tagged, described = Words(tags), Words(description)
		}
		switch {
		case q.anyOf(i, tagged):
			sum += inTags
		case q.anyOf(i, described):
			sum += inDescription
		default:
			sum += inText
		}
	}
	score := sum / float64(len(q.Words))
	if asked > 0 {
		score -= wholeName * (1 - min(1, float64(asked)/float64(len(names))))
	}
	return score
}

// worthOfName is what the query's i-th word is worth in a name; 0 when it is not there.
func (q Query) worthOfName(i int, names []string) (worth float64, whole int) {
	for _, w := range names {
		if w == q.Words[i] {
			return inName, 1
		}
		if q.Fits(i, w) {
			worth, whole = nameBegins, 1
		}
	}
	return worth, whole
}

func (q Query) anyOf(i int, words []string) bool {
	for _, w := range words {
		if q.Fits(i, w) {
			return true
		}
	}
	return false
}
