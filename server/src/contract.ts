/** The wire types of every body of the API, for its clients in TypeScript; the names are those of the OpenAPI description. */

import type { z } from 'zod'
import type * as accounts from './features/accounts/schemas.ts'
import type * as factors from './features/accounts/second-factor-schemas.ts'
import type * as audit from './features/audit/schemas.ts'
import type * as billing from './features/billing/schemas.ts'
import type * as usage from './features/billing/usage-schemas.ts'
import type * as catalog from './features/catalog/schemas.ts'
import type * as deployments from './features/deployments/schemas.ts'
import type * as inference from './features/inference/schemas.ts'
import type * as invitations from './features/invitations/schemas.ts'
import type * as mail from './features/mail/schemas.ts'
import type * as members from './features/members/schemas.ts'
import type * as organizations from './features/organizations/schemas.ts'
import type * as sso from './features/sso/schemas.ts'
import type * as statistics from './features/statistics/schemas.ts'
import type { problemSchema } from './http/errors.ts'

export type { Permission, RoleName } from './roles.ts'

export type Problem = z.output<typeof problemSchema>

export type Registration = z.input<typeof accounts.registerBody>
export type PasswordChange = z.input<typeof accounts.passwordChangeBody>
export type Reauthentication = z.input<typeof factors.reauthenticationBody>
export type TotpConfirmation = z.input<typeof factors.confirmationBody>
export type Passkey = z.output<typeof factors.passkeyBody>
export type PasskeySetup = z.output<typeof factors.passkeySetupBody>
export type NewPasskey = z.input<typeof factors.newPasskeyBody>
export type SecondFactors = z.output<typeof factors.secondFactorsBody>
export type TotpSetup = z.output<typeof factors.totpSetupBody>
export type SecondFactorAdded = z.output<typeof factors.factorAddedBody>
export type RecoveryCodes = z.output<typeof factors.recoveryCodesBody>
export type OwnSession = z.output<typeof accounts.ownSessionBody>
export type AccountDeletion = z.input<typeof members.accountDeletionBody>
export type Credentials = z.input<typeof accounts.signInBody>
export type Session = z.output<typeof accounts.sessionBody>
export type SignedOut = z.output<typeof accounts.signedOutBody>
export type Profile = z.output<typeof accounts.profileBody>
export type ProfileChanges = z.input<typeof accounts.profileChangesBody>
export type PasswordResetRequest = z.input<typeof accounts.passwordResetRequestBody>
export type Accepted = z.output<typeof accounts.acceptedBody>
export type EmailVerification = z.input<typeof accounts.emailVerificationBody>
export type EmailVerified = z.output<typeof accounts.verifiedBody>
export type PasswordReset = z.input<typeof accounts.passwordResetBody>
export type PasswordResetDone = z.output<typeof accounts.resetBody>

export type SsoProviders = z.output<typeof sso.providersBody>
export type InvitationToken = z.input<typeof sso.startBody>
export type SsoAuthorization = z.output<typeof sso.startedBody>

export type Organization = z.output<typeof organizations.organizationBody>
export type OrganizationChanges = z.input<typeof organizations.organizationChangesBody>
/** An item of GET /v1/user/organizations */
export type OwnOrganization = z.output<typeof organizations.ownOrganizationBody>
export type Member = z.output<typeof organizations.memberBody>
export type MemberChanges = z.input<typeof members.memberChangesBody>
export type HandOver = z.input<typeof members.handOverQuery>

export type AuditLog = z.output<typeof audit.auditLogBody>
export type AuditLogItem = z.output<typeof audit.auditItem>
export type AuditAction = AuditLogItem['action']

export type Invitation = z.output<typeof invitations.invitationBody>
export type InvitationRequest = z.input<typeof invitations.inviteBody>
/** Answer of POST /v1/organization/invitations/{id}/link */
export type InvitationLink = z.output<typeof invitations.invitationLinkBody>
export type InvitationPreview = z.output<typeof invitations.invitationPreviewBody>
export type InviteeRegistration = z.input<typeof invitations.inviteeBody>

export type DeployableModel = z.output<typeof catalog.deployableModelBody>
export type DeployableModels = z.output<typeof catalog.deployableModelsBody>
/** One format and size of a model, with its quantizations */
export type ModelVariant = DeployableModel['variants'][number]
export type ModelType = DeployableModel['model_type']

export type Deployment = z.output<typeof deployments.deploymentBody>
export type DeploymentStatus = Deployment['status']
export type DeploymentPage = z.output<typeof deployments.deploymentsBody>
export type DeploymentRequest = z.input<typeof deployments.createDeploymentBody>
export type DeploymentPlanRequest = z.input<typeof deployments.planRequestBody>
export type DeploymentChange = z.input<typeof deployments.changeDeploymentBody>
export type DeploymentPlan = z.output<typeof deployments.planBody>
export type Placement = z.output<typeof deployments.placementBody>
export type Placements = z.output<typeof deployments.placementsBody>
export type DeploymentEvent = z.output<typeof deployments.eventItem>
export type DeploymentEvents = z.output<typeof deployments.eventsBody>
export type DeploymentLogLine = z.output<typeof deployments.logItem>
export type DeploymentLogs = z.output<typeof deployments.logsBody>
export type DeploymentUsage = z.output<typeof deployments.deploymentUsageBody>
export type DeploymentStatistics = z.output<typeof statistics.statisticsBody>
export type StatisticsWindow = DeploymentStatistics['window']

export type Installation = z.output<typeof mail.installationBody>

export type ChatCompletionRequest = z.input<typeof inference.chatBody>
export type EmbeddingsRequest = z.input<typeof inference.embeddingsBody>
export type Models = z.output<typeof inference.modelsBody>
export type OpenAIError = z.output<typeof inference.openAiErrorBody>

export type BillingConfig = z.output<typeof billing.billingConfigBody>
export type BillingAccount = z.output<typeof billing.billingAccountBody>
export type UsageSummary = z.output<typeof usage.usageSummaryBody>
export type UsageTotal = z.output<typeof usage.usageTotalBody>
export type DailyUsage = z.output<typeof usage.dailyUsageBody>
export type UsageAnomaly = z.output<typeof usage.usageAnomalyBody>
export type Subscription = z.output<typeof billing.subscriptionBody>
export type ActivatePostpaid = z.input<typeof billing.activatePostpaidBody>
export type CollectionMethod = z.input<typeof billing.collectionMethodBody>
export type PaymentMethod = z.output<typeof billing.paymentMethodBody>
export type DefaultPaymentMethod = z.input<typeof billing.defaultPaymentMethodBody>
export type SetupSessionRequest = z.input<ReturnType<typeof billing.setupSessionBody>>
export type CheckoutSession = z.output<typeof billing.checkoutSessionBody>
export type PortalSessionRequest = z.input<ReturnType<typeof billing.portalSessionBody>>
export type PortalSession = z.output<typeof billing.portalUrlBody>
export type Invoice = z.output<typeof billing.invoiceBody>
