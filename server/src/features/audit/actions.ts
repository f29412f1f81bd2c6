/** Every action in the audit log: a noun and a verb in the past. */
export const auditActions = [
  'user.registered',
  'user.updated',
  'user.identity_linked',
  'user.identity_unlinked',
  'user.email_changed',
  'user.password_reset_requested',
  'user.password_reset',
  'user.password_changed',
  'user.data_exported',
  'user.deleted',
  'user.disabled',
  'user.enabled',
  'user.email_verification_requested',
  'user.email_verified',
  'user.second_factor_started',
  'user.second_factor_added',
  'user.second_factor_removed',
  'user.second_factors_reset',
  'user.recovery_codes_renewed',
  'session.started',
  'session.sign_in_refused',
  'session.second_factor_requested',
  'session.created_for_scripts',
  'session.ended',
  'organization.updated',
  'organization.suspended',
  'organization.resumed',
  'organization.limit_changed',
  'organization.closed',
  'organization.audit_log_exported',
  'member.role_changed',
  'member.removed',
  'member.left',
  'invitation.created',
  'invitation.resent',
  'invitation.link_copied',
  'invitation.accepted',
  'invitation.rejected',
  'invitation.cancelled',
  'deployment.created',
  'deployment.transferred',
  'deployment.changed',
  'deployment.terminated',
  'billing_account.activation_started',
  'billing_account.changed',
  'payment_method.made_default',
  'payment_method.removed',
  'billing_portal.opened',
  'checkout.started',
  'budget.created',
  'budget.changed',
  'budget.deleted',
  'permission.refused',
] as const

export type AuditAction = (typeof auditActions)[number]

const concernOneOrganization: readonly AuditAction[] = [
  'user.registered',
  'user.updated',
  'user.email_verification_requested',
]

/** Whether an action concerns how a person signs in, or their data: the admins of all their organizations may read it. */
export function isPersonal(action: AuditAction): boolean {
  return /^(user|session)\./.test(action) && !concernOneOrganization.includes(action)
}
