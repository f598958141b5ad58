package license

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	licensev1 "github.com/cadre-dev/cadre/gen/go/cadre/billing/license/v1"
	"github.com/cadre-dev/cadre/internal/fault"
)

// A ticket is a compact JWS (RFC 7515) signed with EdDSA over Ed25519 (RFC 8037). Its
// header names the key in kid, its payload is a LicenseClaims in protobuf's JSON.

// Ticket is one that was read and not verified: anybody may have written it.
type Ticket struct {
	KeyID  string
	Claims *licensev1.LicenseClaims
	signed *jose.JSONWebSignature
}

// ErrTicket is a text that is no ticket.
var ErrTicket = fault.New(fault.InvalidArgument, "BAD_LICENSE_TICKET", "this is no license ticket")

// Read reads a ticket without verifying anything. Fields of the claims that this release
// does not know are left out.
func Read(text string) (Ticket, error) {
	text = strings.TrimSpace(text)
	if strings.Count(text, ".") != 2 {
		return Ticket{}, ErrTicket.Saying("this is no license ticket: a ticket has three parts with dots between them")
	}
	signed, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return Ticket{}, ErrTicket.Saying("this is no license ticket: it is no compact JWS that is signed with EdDSA").Because(err)
	}
	t := Ticket{KeyID: signed.Signatures[0].Protected.KeyID, Claims: &licensev1.LicenseClaims{}, signed: signed}
	if t.KeyID == "" {
		return Ticket{}, ErrTicket.Saying("this is no license ticket: its header names no key (kid)")
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(signed.UnsafePayloadWithoutVerification(), t.Claims); err != nil {
		return t, ErrTicket.Saying("this is no license ticket: its payload holds no license claims").Because(err)
	}
	return t, nil
}

// Verifier judges tickets, offline. Keys and Validate are needed.
type Verifier struct {
	Keys     map[string]ed25519.PublicKey // by key id
	Validate func(proto.Message) error    // the contract's rules
	Soon     time.Duration                // before its end a license is expiring; default 30 days
}

// skew is how far an issuer's clock may be ahead.
const skew = 5 * time.Minute

// Judge says how a ticket stands at now. "" is absent.
func (v Verifier) Judge(text string, now time.Time) Report {
	if strings.TrimSpace(text) == "" {
		return Report{State: StateAbsent}
	}
	t, err := Read(text)
	if err != nil {
		return invalid(t.KeyID, "%s", err.Error())
	}
	key, known := v.Keys[t.KeyID]
	if !known || len(key) != ed25519.PublicKeySize {
		return invalid(t.KeyID, "it was signed with the key %s, which this installation does not trust", t.KeyID)
	}
	if _, err := t.signed.Verify(key); err != nil {
		return invalid(t.KeyID, "its signature is not of the key %s: it was changed, or another key signed it", t.KeyID)
	}
	if err := v.Validate(t.Claims); err != nil {
		return invalid(t.KeyID, "its claims break the contract: %s", err.Error())
	}
	if issued := t.Claims.GetIssuedAt().AsTime(); now.Add(skew).Before(issued) {
		return invalid(t.KeyID, "it is issued in the future, at %s: look at this machine's clock", issued.Format(time.RFC3339))
	}
	return Report{State: v.at(t.Claims, now), Claims: t.Claims, KeyID: t.KeyID}
}

// at is the state of good claims at an instant. An end belongs to what comes after it.
func (v Verifier) at(c *licensev1.LicenseClaims, now time.Time) State {
	soon := v.Soon
	if soon == 0 {
		soon = 30 * 24 * time.Hour
	}
	end := c.GetExpiresAt().AsTime()
	switch {
	case now.Before(end.Add(-soon)):
		return StateValid
	case now.Before(end):
		return StateExpiring
	case c.GetGraceUntil() != nil && now.Before(c.GetGraceUntil().AsTime()):
		return StateGrace
	}
	return StateExpired
}

func invalid(key, format string, args ...any) Report {
	if key == "" {
		key = UnknownKey
	}
	return Report{State: StateInvalid, KeyID: key, Reason: fmt.Sprintf(format, args...)}
}

// ErrKey is a text that is no key.
var ErrKey = fault.New(fault.InvalidArgument, "BAD_LICENSE_KEY", "this is no public key")

// PublicKey reads an Ed25519 key in PEM (SubjectPublicKeyInfo), as `openssl pkey -pubout`
// writes it.
func PublicKey(data []byte) (ed25519.PublicKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, ErrKey.Saying("this is no public key: it has no PEM block; `openssl pkey -in KEY -pubout` writes one")
	}
	if block.Type != "PUBLIC KEY" {
		return nil, ErrKey.Saying("this is no public key but a %s; `openssl pkey -in KEY -pubout` writes the public one", block.Type)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, ErrKey.Saying("this public key cannot be read").Because(err)
	}
	key, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return nil, ErrKey.Saying("this public key is a %T; tickets are signed with Ed25519", parsed)
	}
	return key, nil
}
