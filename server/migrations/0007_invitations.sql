CREATE TABLE invitations (
  id                   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id      bigint NOT NULL REFERENCES organizations (id),
  invitee_email        text NOT NULL,
  invited_by_user_id   bigint NOT NULL REFERENCES users (id),
  role                 text NOT NULL CHECK (role IN ('viewer', 'member', 'admin')),
  status               text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'accepted', 'rejected')),
  nonce                text NOT NULL,
  token_hash           bytea NOT NULL UNIQUE,
  mail_id              bigint REFERENCES mails (id),
  created_at           timestamptz NOT NULL,
  expires_at           timestamptz NOT NULL,
  resent_at            timestamptz,
  responded_at         timestamptz,
  responded_by_user_id bigint REFERENCES users (id),
  CHECK ((status = 'pending') = (responded_at IS NULL))
);
CREATE UNIQUE INDEX invitations_pending_key ON invitations (organization_id, lower(invitee_email))
  WHERE status = 'pending';
CREATE INDEX invitations_organization_idx ON invitations (organization_id, created_at);
CREATE INDEX invitations_invitee_idx ON invitations (lower(invitee_email));
COMMENT ON TABLE invitations IS 'Offers of a role in an organization, addressed to an e-mail address';
COMMENT ON COLUMN invitations.status IS 'A pending one whose expires_at is past counts as expired everywhere; no job writes that down';
COMMENT ON COLUMN invitations.nonce IS 'What the link''s token is derived from, with the server''s key; a new one voids the old link';
COMMENT ON COLUMN invitations.token_hash IS 'SHA-256 of the link''s token, which is stored nowhere';
COMMENT ON COLUMN invitations.mail_id IS 'The newest mail about it; null only inside the transaction that invites';
COMMENT ON COLUMN invitations.resent_at IS 'When it was sent again last; null as long as it was sent once';
