package store

// Capabilities are what a store can do beyond the contract. The suite skips by
// name what a store does not declare.
type Capabilities struct {
	// Shared: several processes may have the database open and write.
	Shared bool
	// Backup: a copy can be made while others write.
	Backup bool
}
