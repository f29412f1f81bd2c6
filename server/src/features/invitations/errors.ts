import { ApplicationError, NotFoundError } from '../../errors.ts'

export function invitationNotFound(): NotFoundError {
  return new NotFoundError('Invitation not found. Open the link in the newest invitation email.')
}

export function invitationAnswered(): ApplicationError {
  return new ApplicationError('conflict', 'invitation_answered', 'This invitation has already been answered.')
}

export function invitationExpired(): ApplicationError {
  return new ApplicationError('gone', 'invitation_expired', 'This invitation has expired. Ask for a new one.')
}
