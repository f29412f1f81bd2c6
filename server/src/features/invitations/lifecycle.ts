import { randomBytes } from 'node:crypto'
import { deriveLinkToken, hashToken } from '../accounts/link-token.ts'

export const invitationStatuses = ['pending', 'accepted', 'rejected', 'expired'] as const

export type InvitationStatus = (typeof invitationStatuses)[number]

const day = 24 * 3_600_000
const lifetime = 7 * day

/** How long after one resend the next may come, in milliseconds. */
export const resendInterval = 60_000

/** The status that counts at an instant: expiry holds by the clock, no job writes it down. */
export function getInvitationStatus(
  invitation: { status: 'pending' | 'accepted' | 'rejected'; expires_at: Date },
  at: Date,
): InvitationStatus {
  return invitation.status === 'pending' && invitation.expires_at <= at ? 'expired' : invitation.status
}

/** What a sending makes anew: the link's secret, as it is stored, and the link's end, 7 days later. */
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
