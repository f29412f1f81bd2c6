import { randomBytes } from 'node:crypto'
import { hashToken } from '../../base/hash-token.ts'
import { deriveLinkToken } from '../mail/link-token.ts'

export const invitationStatuses = ['pending', 'accepted', 'rejected', 'expired', 'cancelled'] as const

export type InvitationStatus = (typeof invitationStatuses)[number]

const day = 24 * 3_600_000
const lifetime = 7 * day

/** The status at a point in time. Expiry follows from the clock; the stored status stays `pending`. */
export function getInvitationStatus(
  invitation: { status: Exclude<InvitationStatus, 'expired'>; expires_at: Date },
  at: Date,
): InvitationStatus {
  return invitation.status === 'pending' && invitation.expires_at <= at ? 'expired' : invitation.status
}

/** The stored part of an invitation link. Each send creates a new link that is valid for 7 days. */
export interface InvitationLink {
  nonce: string
  tokenHash: Buffer
  expiresAt: Date
}

export function issueInvitationLink(secretKey: string, at: Date): InvitationLink {
  const nonce = randomBytes(32).toString('base64url')
  return {
    nonce,
    tokenHash: hashToken(deriveLinkToken(secretKey, 'invitation', nonce)),
    expiresAt: new Date(at.getTime() + lifetime),
  }
}
