import { ApplicationError, NotFoundError } from '../../errors.ts'

export function invitationNotFound(): NotFoundError {
  return new NotFoundError('Invitation not found. Open the link in the newest invitation email.')
}

export function invitationAnswered({ status }: { status: string }): ApplicationError {
  const message =
    status === 'cancelled'
      ? 'This invitation was cancelled. Ask for a new one.'
      : 'This invitation has already been answered.'
  return new ApplicationError('conflict', 'invitation_answered', message)
}

export function invitationExpired(): ApplicationError {
  return new ApplicationError('gone', 'invitation_expired', 'This invitation has expired. Ask for a new one.')
}
