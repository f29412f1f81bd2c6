ALTER TABLE invitations ADD COLUMN link_copied_at timestamptz;
COMMENT ON COLUMN invitations.link_copied_at IS 'When an admin first copied the current link; from then on the link does not prove that its user owns the email address';
