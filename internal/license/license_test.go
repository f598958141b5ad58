package license_test

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	entitlementsv1 "github.com/cadre-dev/cadre/gen/go/cadre/billing/entitlements/v1"
	licensev1 "github.com/cadre-dev/cadre/gen/go/cadre/billing/license/v1"
	"github.com/cadre-dev/cadre/internal/license"
)

// seed makes a key of which everything is known.
func seed(word string) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte((word + strings.Repeat(".", ed25519.SeedSize))[:ed25519.SeedSize]))
}

var (
	ours   = seed("ours")
	issued = time.Date(2031, 3, 15, 0, 0, 0, 0, time.UTC)
	ends   = time.Date(2032, 3, 15, 0, 0, 0, 0, time.UTC)
	graced = time.Date(2032, 4, 30, 0, 0, 0, 0, time.UTC)
)

func good() *licensev1.LicenseClaims {
	return &licensev1.LicenseClaims{
		LicenseId: "lic_t5q", Term: licensev1.LicenseTerm_paid, Customer: &licensev1.Customer{Id: "cus_9", ContactEmail: "desk@harbour.example"},
		Entitlements: &entitlementsv1.Entitlements{Features: []entitlementsv1.Feature{entitlementsv1.Feature_teams}},
		IssuedAt:     timestamppb.New(issued), ExpiresAt: timestamppb.New(ends), GraceUntil: timestamppb.New(graced),
	}
}

// sign makes a ticket by hand, as another implementation would.
func sign(key ed25519.PrivateKey, header, payload string) string {
	head := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(payload))
	return head + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(head)))
}

func payload(t *testing.T, c *licensev1.LicenseClaims) string {
	t.Helper()
	data, err := protojson.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const header = `{"alg":"EdDSA","kid":"2031-a"}`

func ticket(t *testing.T, change func(*licensev1.LicenseClaims)) string {
	t.Helper()
	c := good()
	if change != nil {
		change(c)
	}
	return sign(ours, header, payload(t, c))
}

var errRule = errors.New("a rule is broken")

// verifier trusts our key; the contract's own rules are tested where the validator is.
func verifier() license.Verifier {
	return license.Verifier{Keys: map[string]ed25519.PublicKey{"2031-a": ours.Public().(ed25519.PublicKey)}, Validate: func(m proto.Message) error {
		if m.(*licensev1.LicenseClaims).GetCustomer().GetContactEmail() == "" {
			return errRule
		}
		return nil
	}}
}

func TestTickets(t *testing.T) {
	t.Parallel()
	whole := ticket(t, nil)
	parts := strings.Split(whole, ".")
	more := base64.RawURLEncoding.EncodeToString([]byte(payload(t, good()) + " "))
	during := issued.AddDate(0, 6, 0)
	for _, c := range []struct {
		name, ticket string
		now          time.Time
		state        license.State
		key, reason  string
	}{
		{"none", "", during, license.StateAbsent, "", ""},
		{"an empty file", " \n", during, license.StateAbsent, "", ""},
		{"valid", whole, during, license.StateValid, "2031-a", ""},
		{"valid, with a line's end", whole + "\n", during, license.StateValid, "2031-a", ""},
		{"issued this instant", whole, issued, license.StateValid, "2031-a", ""},
		{"issued by a clock that is a little ahead", whole, issued.Add(-4 * time.Minute), license.StateValid, "2031-a", ""},
		{"issued in the future", whole, issued.Add(-6 * time.Minute), license.StateInvalid, "2031-a", "in the future"},
		{"the last valid instant", whole, ends.AddDate(0, 0, -30).Add(-1), license.StateValid, "2031-a", ""},
		{"expiring from here on", whole, ends.AddDate(0, 0, -30), license.StateExpiring, "2031-a", ""},
		{"the last instant", whole, ends.Add(-1), license.StateExpiring, "2031-a", ""},
		{"in its time of grace", whole, ends, license.StateGrace, "2031-a", ""},
		{"the last instant of grace", whole, graced.Add(-1), license.StateGrace, "2031-a", ""},
		{"expired", whole, graced, license.StateExpired, "2031-a", ""},
		{"expired, without grace", ticket(t, func(c *licensev1.LicenseClaims) { c.GraceUntil = nil }), ends, license.StateExpired, "2031-a", ""},
		{"an unknown key", sign(ours, `{"alg":"EdDSA","kid":"2029-z"}`, payload(t, good())), during, license.StateInvalid, "2029-z", "does not trust"},
		{"another's signature", sign(seed("theirs"), header, payload(t, good())), during, license.StateInvalid, "2031-a", "was changed, or another key"},
		{"a changed payload", parts[0] + "." + more + "." + parts[2], during, license.StateInvalid, "2031-a", "was changed"},
		{"a cut signature", whole[:len(whole)-4], during, license.StateInvalid, "2031-a", "was changed"},
		{"no signature", parts[0] + "." + parts[1] + ".", during, license.StateInvalid, "2031-a", "was changed"},
		{"no algorithm", sign(ours, `{"alg":"none","kid":"2031-a"}`, payload(t, good())), during, license.StateInvalid, license.UnknownKey, "signed with EdDSA"},
		{"a symmetric algorithm", sign(ours, `{"alg":"HS256","kid":"2031-a"}`, payload(t, good())), during, license.StateInvalid, license.UnknownKey, "signed with EdDSA"},
		{"no key named", sign(ours, `{"alg":"EdDSA"}`, payload(t, good())), during, license.StateInvalid, license.UnknownKey, "names no key"},
		{"a key that the ticket brings itself", sign(seed("theirs"), `{"alg":"EdDSA","kid":"2031-a","jwk":{"kty":"OKP","crv":"Ed25519","x":"`+
			base64.RawURLEncoding.EncodeToString(seed("theirs").Public().(ed25519.PublicKey))+`"}}`, payload(t, good())), during, license.StateInvalid, "2031-a", "was changed, or another key"},
		{"no claims", sign(ours, header, `["teams"]`), during, license.StateInvalid, "2031-a", "no license claims"},
		{"claims of a later release", sign(ours, header, strings.Replace(payload(t, good()), "{", `{"seatsOfTomorrow":4,`, 1)), during, license.StateValid, "2031-a", ""},
		{"claims against the rules", ticket(t, func(c *licensev1.LicenseClaims) { c.Customer.ContactEmail = "" }), during, license.StateInvalid, "2031-a", "break the contract"},
		{"two parts", "a.b", during, license.StateInvalid, license.UnknownKey, "three parts"},
		{"three parts of nothing", "..", during, license.StateInvalid, license.UnknownKey, "no license ticket"},
		{"a letter", "Dear customer", during, license.StateInvalid, license.UnknownKey, "three parts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := verifier().Judge(c.ticket, c.now)
			if r.State != c.state || r.KeyID != c.key || !strings.Contains(r.Reason, c.reason) || (r.Reason == "") != (c.reason == "") {
				t.Errorf("it is %s by key %q, %q; want %s by %q, %q", r.State, r.KeyID, r.Reason, c.state, c.key, c.reason)
			}
			if err := r.Check(); err != nil {
				t.Errorf("the report breaks the promise: %v", err)
			}
		})
	}
}

// Reading shows what anybody wrote.
func TestRead(t *testing.T) {
	t.Parallel()
	got, err := license.Read(sign(seed("theirs"), header, payload(t, good())))
	if err != nil || got.KeyID != "2031-a" || !proto.Equal(got.Claims, good()) {
		t.Errorf("read %v, %v", got, err)
	}
	if _, err := license.Read("nothing"); !errors.Is(err, license.ErrTicket) {
		t.Errorf("a word was read: %v", err)
	}
}

func TestPublicKeys(t *testing.T) {
	t.Parallel()
	der, err := x509.MarshalPKIXPublicKey(ours.Public())
	if err != nil {
		t.Fatal(err)
	}
	key, err := license.PublicKey(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	if err != nil || !key.Equal(ours.Public()) {
		t.Errorf("%v, %v", key, err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(ours)
	if err != nil {
		t.Fatal(err)
	}
	for said, data := range map[string][]byte{
		"no PEM block":      []byte("key"),
		"but a PRIVATE KEY": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		"cannot be read":    pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("x")}),
	} {
		if _, err := license.PublicKey(data); !errors.Is(err, license.ErrKey) || !strings.Contains(err.Error(), said) {
			t.Errorf("%q: %v", said, err)
		}
	}
}

// A report that shows what nobody verified is refused, whoever composed the provider.
func TestReportsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, r := range []license.Report{
		{},
		{State: 7, KeyID: "k"},
		{State: license.StateAbsent, KeyID: "k"},
		{State: license.StateAbsent, Claims: good()},
		{State: license.StateInvalid, KeyID: "k", Claims: good()},
		{State: license.StateInvalid},
		{State: license.StateValid, KeyID: "k"},
		{State: license.StateGrace, Claims: good()},
	} {
		if err := r.Check(); !errors.Is(err, license.ErrReport) {
			t.Errorf("%v passes: %v", r, err)
		}
	}
	absent, err := license.Absent{}.Status(context.Background(), issued)
	if err != nil || absent.Check() != nil || absent.State != license.StateAbsent {
		t.Errorf("without a license: %v, %v", absent, err)
	}
}

// FuzzJudge: no text panics, and none is trusted that our key did not sign.
func FuzzJudge(f *testing.F) {
	whole := sign(ours, header, `{"licenseId":"lic_1"}`)
	for _, text := range []string{"", "..", whole, whole[1:], strings.Replace(whole, ".", "..", 1)} {
		f.Add(text)
	}
	trusted := []license.State{license.StateValid, license.StateExpiring, license.StateGrace, license.StateExpired}
	f.Fuzz(func(t *testing.T, text string) {
		v := verifier()
		v.Keys = map[string]ed25519.PublicKey{"2031-a": seed("nobody").Public().(ed25519.PublicKey)}
		r := v.Judge(text, issued)
		if err := r.Check(); err != nil || slices.Contains(trusted, r.State) {
			t.Errorf("%q is %v, %v", text, r, err)
		}
	})
}
