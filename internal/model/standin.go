package model

// StandIn is an ability of a Model that plays what another one answered: what is known of that
// one, such as its window, holds of it.
type StandIn interface {
	// StandsFor is the other model's full name.
	StandsFor() string
}
