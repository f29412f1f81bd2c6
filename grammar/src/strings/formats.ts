const date =
  '(?:[0-9]{4}-(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|[0-9]{4}-(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)' +
  '|[0-9]{4}-02-(?:0[1-9]|1[0-9]|2[0-8])|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)'
const time =
  '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])'
const label = '[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*'
const hostname = `${label}(?:\\.${label})*`
const number = '(?:0|[1-9][0-9]{0,8})'
const clock = `T(?:${number}H(?:${number}M(?:${number}S)?)?|${number}M(?:${number}S)?|${number}S)`
const days = `(?:${number}Y(?:${number}M(?:${number}D)?)?|${number}M(?:${number}D)?|${number}D)`
const byte = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const group = '[0-9a-fA-F]{1,4}'
const uuid = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}'

const ipv6 = [
  `(?:${group}:){7}${group}`,
  ...Array.from({ length: 7 }, (_, left) => {
    const right = 6 - left
    const after = right === 0 ? `(?:${group})?` : `(?:${group}(?::${group}){0,${right - 1}})?`
    return left === 0 ? `::${after}` : `${group}(?::${group}){${left - 1}}::${after}`
  }),
]

/**
 * The supported formats. Each expression accepts common values only, so every value passes strict validators.
 * Lengths are limited, because a small model may never end a value.
 */
export const formatPatterns: Readonly<Record<string, string>> = {
  date,
  time,
  'date-time': `${date}T${time}`,
  duration: `P(?:${number}W|${days}(?:${clock})?|${clock})`,
  email: `(?=.{1,40}$)[A-Za-z0-9_+-]+(?:\\.[A-Za-z0-9_+-]+)*@(?:${label}\\.)+[A-Za-z]{2,16}`,
  hostname: `(?=.{1,32}$)${hostname}`,
  ipv4: `${byte}(?:\\.${byte}){3}`,
  ipv6: ipv6.join('|'),
  uuid,
  uri: `(?=.{1,80}$)https?://${hostname}(?::[1-9][0-9]{1,3})?(?:/[A-Za-z0-9._~-]+)*/?`,
}
