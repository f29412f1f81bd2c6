import { ApplicationError, NotFoundError } from '../../base/errors.ts'

/** The codes of an invitation that can't be answered */
export const answerErrors = ['not_found', 'invitation_answered', 'invitation_expired'] as const

/** The codes of a link that leads to no invitation */
export const linkErrors = ['not_found', 'invitation_replaced'] as const

export function invitationNotFound(): NotFoundError {
  return new NotFoundError('Invitation not found. Open the link in the newest invitation email.')
}

export function invitationAnswered({ status }: { status: string }): ApplicationError {
  const message =
    status === 'cancelled'
      ? 'This invitation was cancelled. Ask for a new one.'
      : 'This invitation has already been answered.'
  return new ApplicationError('invitation_answered', message)
}

export function invitationExpired(): ApplicationError {
  return new ApplicationError('invitation_expired', 'This invitation has expired. Ask for a new one.')
}

export function invitationReplaced(): ApplicationError {
  const message = 'A newer email replaced this link. Open the link in the newest invitation email.'
  return new ApplicationError('invitation_replaced', message)
}
