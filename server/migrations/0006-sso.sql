CREATE TABLE identities (
  id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  issuer    text NOT NULL,
  subject   text NOT NULL,
  user_id   bigint NOT NULL REFERENCES users (id),
  linked_at timestamptz NOT NULL,
  CONSTRAINT identities_key UNIQUE (issuer, subject),
  UNIQUE (user_id, issuer)
);
COMMENT ON TABLE identities IS 'Links accounts of the identity provider to users; never looked up by email address';
COMMENT ON COLUMN identities.subject IS 'The provider''s id of a person, never reassigned within the issuer. A user has one of each issuer, because a second one with their address is another person.';

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
COMMENT ON TABLE sso_flows IS 'Sign-ins in progress at the identity provider. Completing a sign-in deletes its row first.';
COMMENT ON COLUMN sso_flows.cookie_hash IS 'SHA-256 of the cookie that binds the flow to the browser that started it';
COMMENT ON COLUMN sso_flows.state_hash IS 'SHA-256 of the state parameter that the provider returns';
COMMENT ON COLUMN sso_flows.code_verifier IS 'PKCE secret; useless without the code, the cookie and the client secret';
COMMENT ON COLUMN sso_flows.return_to IS 'Path on this site that the browser returns to';
COMMENT ON COLUMN sso_flows.invitation_token_hash IS 'The invitation to accept on sign-in; null without an invitation';

CREATE TABLE sso_sessions (
  session_id bigint PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
  user_id    bigint NOT NULL,
  issuer     text NOT NULL,
  subject    text NOT NULL,
  sid        text,
  id_token   bytea
);
CREATE INDEX sso_sessions_subject_idx ON sso_sessions (subject);
CREATE INDEX sso_sessions_sid_idx ON sso_sessions (sid);
COMMENT ON TABLE sso_sessions IS 'Sessions that began at the identity provider, which can end them (OpenID Connect Back-Channel Logout 1.0)';
COMMENT ON COLUMN sso_sessions.sid IS 'The provider''s id of its own session; null if it sends none';
COMMENT ON COLUMN sso_sessions.id_token IS 'Encrypted: names the person to the provider when they sign out. Null for a long one, and for the sessions of scripts';
