import type { IncomingHttpHeaders } from 'node:http'
import { ApplicationError } from '../../../base/errors.ts'
import type { MemberNaming, Viewer } from '../../../base/viewer.ts'
import type { Services } from '../../../services.ts'
import type { Asker } from '../../deployments/serving/asker.ts'
import { resolveMember } from '../../deployments/serving/named-member.ts'
import type { MemberCache, MemberKey } from '../../deployments/serving/named-member.ts'

/** As long as the longest email, and as the ids of other programs */
const longestName = 254
/** Ids are positive and fit into a JavaScript number. */
const userId = /^[1-9]\d{0,14}$/

export interface AskerDeps extends Pick<Services, 'db'> {
  inference: { members: MemberCache }
}

/**
 * Finds out who asks: the viewer, or whom a program with the right `may_name_members` names in a header.
 * Throws `invalid_request_error` for a header that is no single name.
 */
export function findAsker(
  { db, inference: { members } }: AskerDeps,
  viewer: Viewer,
  headers: IncomingHttpHeaders,
): Asker | Promise<Asker> {
  const naming = viewer.memberNaming
  const name = naming === null ? null : readName(naming, headers)
  if (name === null) return { viewer, member: null, outsideName: null }
  const found = resolveMember({ db, members }, viewer.organizationId, name.key)
  const toAsker = (member: Asker['member']): Asker => ({
    viewer,
    member,
    outsideName: member === null ? name.text : null,
  })
  return found instanceof Promise ? found.then(toAsker) : toAsker(found)
}

interface Name {
  key: MemberKey
  text: string
}

/** Berth's header goes first. Other headers name by email only, because their ids are of other programs. */
function readName({ header }: MemberNaming, headers: IncomingHttpHeaders): Name | null {
  const own = readHeader(headers, 'x-berth-member')
  if (own !== null) {
    return { key: userId.test(own) ? { userId: Number(own) } : { email: own }, text: own }
  }
  const other = header === null ? null : readHeader(headers, header)
  return other === null ? null : { key: { email: other }, text: other }
}

/** A header's text in lower case; null without any. Node joins repeated headers with commas. */
function readHeader(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name]
  if (value === undefined) return null
  const text = Buffer.from(String(value), 'latin1').toString('utf8').normalize('NFC').trim().toLowerCase()
  if (text === '') return null
  if (text.length <= longestName && !/[\p{C}\uFFFD,]/u.test(text)) return text
  const message = `The header ${name} must name one person: by an email, or an id, of at most ${longestName} characters.`
  throw new ApplicationError('invalid_request_error', message)
}
