CREATE TABLE invitations (
  id                   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id      bigint NOT NULL REFERENCES organizations (id),
  invitee_email        text NOT NULL,
  invited_by_user_id   bigint NOT NULL REFERENCES users (id),
  role                 text NOT NULL CHECK (role IN ('viewer', 'member', 'admin')),
  status               text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'accepted', 'rejected', 'cancelled')),
  nonce                text NOT NULL,
  token_hash           bytea NOT NULL UNIQUE,
  mail_id              bigint REFERENCES mails (id),
  created_at           timestamptz NOT NULL,
  expires_at           timestamptz NOT NULL,
  link_copied_at       timestamptz,
  responded_at         timestamptz,
  responded_by_user_id bigint REFERENCES users (id),
  CHECK ((status = 'pending') = (responded_at IS NULL))
);
CREATE UNIQUE INDEX invitations_pending_key ON invitations (organization_id, lower(invitee_email))
  WHERE status = 'pending';
CREATE INDEX invitations_organization_idx ON invitations (organization_id, created_at);
CREATE INDEX invitations_invitee_idx ON invitations (lower(invitee_email));
COMMENT ON TABLE invitations IS 'Offers of a role in an organization, addressed to an email address';
COMMENT ON COLUMN invitations.status IS 'A pending invitation counts as expired after expires_at; no job updates the status';
COMMENT ON COLUMN invitations.nonce IS 'The link''s token is derived from this nonce and the server''s secret key; a new nonce voids the old link';
COMMENT ON COLUMN invitations.token_hash IS 'SHA-256 of the link''s token; the token itself is not stored';
COMMENT ON COLUMN invitations.mail_id IS 'The newest email of this invitation; null only within the transaction that creates the invitation';
COMMENT ON COLUMN invitations.link_copied_at IS 'When an admin first copied the current link; from then on the link does not verify the email address of its user';

CREATE TABLE replaced_invitation_links (
  token_hash    bytea PRIMARY KEY,
  invitation_id bigint NOT NULL REFERENCES invitations (id) ON DELETE CASCADE
);
CREATE INDEX replaced_invitation_links_invitation_idx ON replaced_invitation_links (invitation_id);
COMMENT ON TABLE replaced_invitation_links IS 'Links of earlier emails, so that whoever opens one hears that there is a newer email';

CREATE FUNCTION keep_replaced_invitation_link() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO replaced_invitation_links (token_hash, invitation_id) VALUES (OLD.token_hash, OLD.id);
  RETURN NULL;
END
$$;
CREATE TRIGGER invitations_keep_replaced_link AFTER UPDATE ON invitations
  FOR EACH ROW WHEN (OLD.token_hash <> NEW.token_hash) EXECUTE FUNCTION keep_replaced_invitation_link();
