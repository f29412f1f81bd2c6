CREATE TABLE identities (
  issuer    text NOT NULL,
  subject   text NOT NULL,
  user_id   bigint NOT NULL REFERENCES users (id),
  linked_at timestamptz NOT NULL,
  CONSTRAINT identities_key PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_user_idx ON identities (user_id);
COMMENT ON TABLE identities IS 'Who at an identity provider is which user; never found by e-mail address';
COMMENT ON COLUMN identities.subject IS 'The provider''s name for a person, never given to another within the issuer';

CREATE TABLE sso_flows (
  cookie_hash           bytea PRIMARY KEY,
  state_hash            bytea NOT NULL,
  nonce                 text NOT NULL,
  code_verifier         text NOT NULL,
  return_to             text NOT NULL,
  invitation_token_hash bytea,
  expires_at            timestamptz NOT NULL
);
CREATE INDEX sso_flows_expiry_idx ON sso_flows (expires_at);
COMMENT ON TABLE sso_flows IS 'Sign-ins that are on their way through the identity provider; finishing one deletes its row first';
COMMENT ON COLUMN sso_flows.cookie_hash IS 'SHA-256 of the cookie that binds the flow to the browser that began it';
COMMENT ON COLUMN sso_flows.state_hash IS 'SHA-256 of the state that comes back with the browser';
COMMENT ON COLUMN sso_flows.code_verifier IS 'The secret of PKCE: of use only together with the code, the cookie and the client''s secret';
COMMENT ON COLUMN sso_flows.return_to IS 'Path of this site where the browser goes in the end';
COMMENT ON COLUMN sso_flows.invitation_token_hash IS 'The invitation that is accepted with the sign-in; null for a plain one';
