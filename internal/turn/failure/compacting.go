package failure

// means is what the failure of a request for a shorter history means, where f is what it
// would mean of any request. Where it passes by itself it is recovered from like f; where its
// provider has a test of its own, that one decides. What somebody has to mend at the provider
// keeps its name.
func (e *Compacting) means(f Failure) Failure {
	passes := f.Retryable
	if e.Passes != nil {
		passes = *e.Passes
	}
	switch {
	case f.Budget == Capacity, f.Code == safetyRefusal, f.Code == quotaExhausted, f.Code == authenticationFailed:
		return f
	case passes:
		return delayed(f)
	case f.Code == Overflow, e.Passes != nil:
		failed := notCompacted
		failed.Detail = f.Detail
		return failed
	}
	return f
}

// delayed is a failure that is recovered from like f.
func delayed(f Failure) Failure {
	if f.Budget == Never {
		f.Budget, f.Advice = Ordinary, later
	}
	f.Code, f.Retryable, f.Setup = "context_compaction_delayed", true, false
	f.Message = "the conversation has to be shortened for the model, and that did not come about yet: " + f.Message
	return f
}
