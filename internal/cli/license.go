package cli

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	licensev1 "github.com/cadre-dev/cadre/gen/go/cadre/billing/license/v1"
	serverv1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/server/v1"
	"github.com/cadre-dev/cadre/internal/license"
	"github.com/cadre-dev/cadre/internal/pipeline"
)

func (c *app) licenseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "license", Short: "Look at license tickets, and at how the server's license stands", Args: noArgs,
		Long: `A ticket says what an own installation is entitled to: a compact JWS that is signed
with EdDSA, with the claims in JSON. It is judged without asking anybody. Which
ticket a server uses is the business of the units that it is composed of; the open
edition uses none.`,
	}
	cmd.AddCommand(c.licenseStatusCommand(), c.licenseInspectCommand(), c.licenseVerifyCommand())
	return cmd
}

func (c *app) licenseStatusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "status", Short: "Say how the server's license stands", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := c.connect()
			if err != nil {
				return err
			}
			res, err := cl.server.GetLicenseStatus(cmd.Context(), connect.NewRequest(&serverv1.GetLicenseStatusRequest{}))
			if err != nil {
				return err
			}
			return c.showLicense(res.Msg, "")
		},
	}
	c.outputFlag(cmd)
	return cmd
}

func (c *app) licenseInspectCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "inspect FILE", Short: "Show what a ticket says, without verifying it", Args: exactArgs(1, "a file with a ticket, or - for standard input"),
		Long: "Shows the key that the ticket names and its claims. Nothing is verified: anybody may have written it.",
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := c.ticket(args[0])
			if err != nil {
				return err
			}
			t, err := license.Read(text)
			if err != nil {
				return exitError{code: exitUsage, err: err}
			}
			return c.show(t.Claims, func() {
				c.printf("key       %s\n", t.KeyID)
				c.claims(t.Claims)
				c.note("nothing was verified: `cadre license verify` does that")
			})
		},
	}
	c.outputFlag(cmd)
	return cmd
}

func (c *app) licenseVerifyCommand() *cobra.Command {
	var keys []string
	var at string
	cmd := &cobra.Command{
		Use: "verify FILE --key ID=FILE", Short: "Judge a ticket by the keys of its issuer", Args: exactArgs(1, "a file with a ticket, or - for standard input"),
		Long: `Verifies the signature and the claims, and says how the license stands: valid,
expiring, grace, expired or invalid.

Exit codes: 0 valid, expiring or in its time of grace, 1 expired or invalid, 2 a file
that cannot be used.`,
		Example: "  cadre license verify ticket.jws --key 2031-a=issuer.pem",
		RunE: func(_ *cobra.Command, args []string) error {
			v, now, err := verifier(keys, at)
			if err != nil {
				return err
			}
			text, err := c.ticket(args[0])
			if err != nil {
				return err
			}
			r := v.Judge(text, now)
			status := &serverv1.LicenseStatus{State: r.State, Claims: r.Claims, KeyId: r.KeyID, CheckedAt: timestamppb.New(now)}
			if err := c.showLicense(status, r.Reason); err != nil {
				return err
			}
			if r.State == license.StateExpired || r.State == license.StateInvalid {
				return exitError{code: exitFailed}
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&keys, "key", nil, "a key of the issuer: its id and a file with its public half in PEM; may be repeated")
	cmd.Flags().StringVar(&at, "at", "", "judge for this time (RFC 3339), not for now")
	c.outputFlag(cmd)
	return cmd
}

// ticket reads a file that must hold something.
func (c *app) ticket(file string) (string, error) {
	data, err := c.readAll(file)
	if err != nil {
		return "", usage("the ticket cannot be read: %v", err)
	}
	if strings.TrimSpace(string(data)) == "" {
		return "", usage("%s is empty", file)
	}
	return string(data), nil
}

// verifier is what the flags make: the keys, and the instant to judge for.
func verifier(keys []string, at string) (license.Verifier, time.Time, error) {
	v, now := license.Verifier{Keys: map[string]ed25519.PublicKey{}}, time.Now()
	if len(keys) == 0 {
		return v, now, usage("whose signature is trusted? Write --key ID=FILE, with the issuer's public key in PEM")
	}
	for _, word := range keys {
		id, file, ok := strings.Cut(word, "=")
		if !ok || id == "" || file == "" {
			return v, now, usage("--key %s is not of the form ID=FILE", word)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return v, now, usage("the key %s cannot be read: %v", id, err)
		}
		if v.Keys[id], err = license.PublicKey(data); err != nil {
			return v, now, usage("%s: %v", file, err)
		}
	}
	if at != "" {
		var err error
		if now, err = time.Parse(time.RFC3339, at); err != nil {
			return v, now, usage("--at %s is no time; write it like %s", at, time.Now().UTC().Format(time.RFC3339))
		}
	}
	rules, err := pipeline.NewValidator()
	if err != nil {
		return v, now, err
	}
	v.Validate = rules.Validate
	return v, now, nil
}

func (c *app) showLicense(s *serverv1.LicenseStatus, reason string) error {
	if c.output == "name" {
		c.printf("%s\n", s.GetState())
		return nil
	}
	return c.show(s, func() {
		c.printf("license   %s\n", join(s.GetState().String(), reason))
		if s.GetKeyId() != "" {
			c.printf("key       %s\n", visible(s.GetKeyId()))
		}
		if s.GetClaims() != nil {
			c.claims(s.GetClaims())
		}
		c.printf("checked   %s\n", s.GetCheckedAt().AsTime().Format(time.RFC3339))
	})
}

// claims are a ticket's, for people.
func (c *app) claims(m *licensev1.LicenseClaims) {
	who := m.GetCustomer()
	c.printf("id        %s (%s)\n", visible(m.GetLicenseId()), m.GetTerm())
	c.printf("customer  %s\n", visible(join(who.GetDisplayName(), who.GetContactEmail(), who.GetOrganization())))
	c.printf("issued    %s\nexpires   %s\n", day(m.GetIssuedAt()), day(m.GetExpiresAt()))
	if m.GetGraceUntil() != nil {
		c.printf("grace     until %s\n", day(m.GetGraceUntil()))
	}
	var grants []string
	for _, f := range m.GetEntitlements().GetFeatures() {
		grants = append(grants, f.String())
	}
	l := m.GetEntitlements().GetLimits()
	for _, bound := range []struct {
		what string
		most int32 // 0 is none
	}{
		{"organizations", l.GetMaxOrganizations()}, {"users", l.GetMaxUsers()}, {"managed organizations included", l.GetIncludedManagedOrganizations()},
	} {
		if bound.most != 0 {
			grants = append(grants, fmt.Sprintf("%d %s", bound.most, bound.what))
		}
	}
	c.printf("grants    %s\n", orDash(strings.Join(grants, ", ")))
}

func day(t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	return t.AsTime().Format(time.RFC3339)
}
