/** Every action in the audit log: a noun and a verb in the past. */
export const auditActions = [
  'user.registered',
  'user.updated',
  'user.identity_linked',
  'user.password_reset_requested',
  'user.password_reset',
  'user.email_verification_requested',
  'user.email_verified',
  'session.started',
  'session.sign_in_refused',
  'session.ended',
  'organization.updated',
  'invitation.created',
  'invitation.resent',
  'invitation.link_copied',
  'invitation.accepted',
  'invitation.rejected',
  'deployment.created',
  'deployment.terminated',
  'billing_account.changed',
  'payment_method.made_default',
  'payment_method.removed',
  'billing_portal.opened',
  'checkout.started',
  'permission.refused',
] as const

export type AuditAction = (typeof auditActions)[number]
