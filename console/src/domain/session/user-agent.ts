import { text } from '../../text/index.ts'

/** The order matters: Edge and Opera also name Chrome, and Chrome names Safari. */
const browsers: readonly [RegExp, string][] = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrome\//, 'Chrome'],
  [/Safari\//, 'Safari'],
]
const systems: readonly [RegExp, string][] = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
]

/** The browser and the system of a user agent, or the start of an unknown one. */
export function describeUserAgent(userAgent: string | null): string {
  if (userAgent === null) return text.profile.unknownClient
  const find = (names: readonly [RegExp, string][]) => names.find(([pattern]) => pattern.test(userAgent))?.[1]
  const browser = find(browsers)
  const system = find(systems)
  if (browser === undefined) return userAgent.slice(0, 40)
  return system === undefined ? browser : text.profile.browserOn(browser, system)
}
