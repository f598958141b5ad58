package turn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/turn/failure"
)

// DefinitionHash identifies all that a policy fixes, with a fingerprint of the definition
// behind its model: SHA-256 in lower-case hexadecimal, the same in every release.
func DefinitionHash(p *ledgerv1.ExecutionPolicy, fingerprint string) string {
	h := sha256.New()
	add := func(values ...any) {
		for _, v := range values {
			fmt.Fprintf(h, "%q\n", fmt.Sprint(v))
		}
	}
	add("execution policy v1", p.GetModel(), p.GetProvider(), p.GetEffort(), p.GetInstructions(), fingerprint)
	add(p.GetAgentId(), p.GetAgentVersion(), p.GetWorkspace(), int32(p.GetApprove()), p.GetOutputSchema(), p.GetRecord())
	l := p.GetLimits()
	add(l.GetMaxModelCalls(), l.GetMaxTurnSeconds(), l.GetMaxOutputTokens(), len(p.GetTools()))
	for _, name := range p.GetTools() {
		add(name)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// sameDefinition refuses to continue a turn whose frozen policy is not the one that was
// frozen, or whose model is another one now. The second may pass, for instance when
// servers of two releases share the work for a while.
func (t *turn) sameDefinition(ctx context.Context) error {
	p := t.claim.Policy
	if t.claim.First {
		return nil
	}
	if frozen := p.GetDefinitionHash(); frozen != "" && frozen != DefinitionHash(p, p.GetModelFingerprint()) {
		return fault.New(fault.FailedPrecondition, "EXECUTION_POLICY_DAMAGED",
			"what was fixed for this turn when it began is not what the ledger holds now; send the message again")
	}
	if p.GetModelFingerprint() == "" && p.GetDefinitionHash() == "" {
		return nil
	}
	now, err := t.fx.Fingerprint(ctx, p.GetModel())
	if err != nil {
		return err
	}
	if now != p.GetModelFingerprint() {
		return &failure.PolicyChanged{Model: p.GetModel()}
	}
	return nil
}
