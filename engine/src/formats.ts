const DATE =
  '(?:[0-9]{4}-(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|[0-9]{4}-(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)' +
  '|[0-9]{4}-02-(?:0[1-9]|1[0-9]|2[0-8])|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)'
const TIME =
  '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])'
const LABEL = '[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*'
const HOSTNAME = `${LABEL}(?:\\.${LABEL})*`
const NUMBER = '(?:0|[1-9][0-9]{0,8})'
const CLOCK = `T(?:${NUMBER}H(?:${NUMBER}M(?:${NUMBER}S)?)?|${NUMBER}M(?:${NUMBER}S)?|${NUMBER}S)`
const DAYS = `(?:${NUMBER}Y(?:${NUMBER}M(?:${NUMBER}D)?)?|${NUMBER}M(?:${NUMBER}D)?|${NUMBER}D)`
const BYTE = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const GROUP = '[0-9a-fA-F]{1,4}'
const UUID = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}'

const ipv6 = [
  `(?:${GROUP}:){7}${GROUP}`,
  ...Array.from({ length: 7 }, (_, left) => {
    const right = 6 - left
    const after = right === 0 ? `(?:${GROUP})?` : `(?:${GROUP}(?::${GROUP}){0,${right - 1}})?`
    return left === 0 ? `::${after}` : `${GROUP}(?::${GROUP}){${left - 1}}::${after}`
  }),
]

/**
 * The supported formats as regular expressions. Each expression accepts common values only, so that every value passes strict
 * validators. The lengths are limited because a small model may never end a value otherwise.
 */
export const FORMATS: Readonly<Record<string, string>> = {
  date: DATE,
  time: TIME,
  'date-time': `${DATE}T${TIME}`,
  duration: `P(?:${NUMBER}W|${DAYS}(?:${CLOCK})?|${CLOCK})`,
  email: `(?=.{1,40}$)[A-Za-z0-9_+-]+(?:\\.[A-Za-z0-9_+-]+)*@(?:${LABEL}\\.)+[A-Za-z]{2,16}`,
  hostname: `(?=.{1,32}$)${HOSTNAME}`,
  ipv4: `${BYTE}(?:\\.${BYTE}){3}`,
  ipv6: ipv6.join('|'),
  uuid: UUID,
  uri: `(?=.{1,80}$)https?://${HOSTNAME}(?::[1-9][0-9]{1,3})?(?:/[A-Za-z0-9._~-]+)*/?`,
}
