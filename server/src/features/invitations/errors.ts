import { ApplicationError, NotFoundError } from '../../errors.ts'

export function invitationNotFound(): NotFoundError {
  return new NotFoundError('There is no such invitation.')
}

export function invitationAnswered(): ApplicationError {
  return new ApplicationError('conflict', 'invitation_answered', 'This invitation has been answered already.')
}

export function invitationExpired(): ApplicationError {
  return new ApplicationError('gone', 'invitation_expired', 'This invitation has expired. Ask for a new one.')
}
