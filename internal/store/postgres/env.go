package postgres

// The variables that choose this driver.
const (
	EnvURL       = "CADRE_DATABASE_URL"        // the database's address; wins over the data folder, always
	envFallback  = "DATABASE_URL"              // is read when EnvURL is not set
	EnvDirectURL = "CADRE_DATABASE_DIRECT_URL" // an address without a pooler, for hints
)

// FromEnv reads the options from the environment; the URL is "" when it names no
// database.
func FromEnv(env func(name string) string) Options {
	o := Options{URL: env(EnvURL), Direct: env(EnvDirectURL)}
	if o.URL == "" {
		o.URL = env(envFallback)
	}
	return o
}
