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
	worth := make([]float64, len(q.Words))
	has, asked := q.inName(worth, name)
	if slugHas, slugAsked := q.inName(worth, slug); slugAsked*has > asked*slugHas { // the one of which more was asked for
		has, asked = slugHas, slugAsked
	}
	q.find(worth, tags, inTags, true)
	q.find(worth, description, inDescription, false)
	sum := 0.0
	for _, w := range worth {
		sum += max(w, inText)
	}
	score := sum / float64(len(q.Words))
	if asked > 0 {
		score -= wholeName * (1 - float64(asked)/float64(has))
	}
	return score
}

// inName notes what words are worth in a name, and counts its words and those that were
// asked for.
func (q Query) inName(worth []float64, name string) (has, asked int) {
	for s := range spots(name) {
		has++
		hit := false
		for i, w := range q.Words {
			switch {
			case s.word == w:
				worth[i], hit = inName, true
			case q.fits(i, s.word, true):
				worth[i], hit = max(worth[i], nameBegins), true
			}
		}
		if hit {
			asked++
		}
	}
	return has, asked
}

// find notes what words are worth that stand in a text, unless they are worth more.
func (q Query) find(worth []float64, text string, value float64, title bool) {
	for i := range worth {
		if worth[i] < value {
			for s := range spots(text) {
				for i := range q.Words {
					if worth[i] < value && q.fits(i, s.word, title) {
						worth[i] = value
					}
				}
			}
			return
		}
	}
}
