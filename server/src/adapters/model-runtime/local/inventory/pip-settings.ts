import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { unlessGone } from '../files.ts'

type Environment = Record<string, string | undefined>

/** Settings of pip that other programs must follow. */
export interface PipSettings {
  indexUrl: string
  extraIndexUrls: readonly string[]
  findLinks: readonly string[]
  /** A file of certificates; null for the system's */
  certificates: string | null
}

const pypi = 'https://pypi.org/simple'

/** Reads pip's variables and files, in the order in which pip does. */
export async function readPipSettings(environment: Environment): Promise<PipSettings> {
  const home = environment['HOME'] ?? homedir()
  const configured = environment['PIP_CONFIG_FILE']
  const paths =
    configured !== undefined && configured !== '/dev/null'
      ? [configured]
      : [
          '/etc/xdg/pip/pip.conf',
          '/etc/pip.conf',
          join(home, '.pip/pip.conf'),
          join(environment['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'pip/pip.conf'),
        ]
  const files = configured === '/dev/null' ? [] : await Promise.all(paths.map(readConfigFile))
  const values = new Map(files.flatMap((file) => [...file]))
  const find = (name: string) =>
    environment[`PIP_${name.replaceAll('-', '_').toUpperCase()}`] ?? values.get(name) ?? ''
  const list = (name: string) =>
    find(name)
      .split(/\s+/)
      .filter((each) => each !== '')
  return {
    indexUrl: find('index-url') || pypi,
    extraIndexUrls: list('extra-index-url'),
    findLinks: list('find-links'),
    certificates: find('cert') || null,
  }
}

/** The options of the sections `global` and `install`, the latter with precedence. */
async function readConfigFile(path: string): Promise<Map<string, string>> {
  const sections = { global: new Map<string, string>(), install: new Map<string, string>() }
  let section: Map<string, string> | null = null
  let last: string | null = null
  for (const line of (await unlessGone(readFile(path, 'utf8'), '')).split('\n')) {
    if (/^\s*([#;]|$)/.test(line)) continue
    const heading = /^\[(\w+)\]/.exec(line)?.[1]
    const [, name, value] = /^([\w-]+)\s*[=:]\s*(.*)$/.exec(line) ?? []
    if (heading !== undefined) {
      section = heading === 'global' || heading === 'install' ? sections[heading] : null
      last = null
    } else if (name !== undefined && value !== undefined) {
      last = name.replaceAll('_', '-')
      section?.set(last, value.trim())
    } else if (last !== null) {
      section?.set(last, `${section.get(last) ?? ''} ${line.trim()}`.trim())
    }
  }
  return new Map([...sections.global, ...sections.install])
}

/** pip's settings as variables of uv, which doesn't read them. uv's own variables have precedence. */
export function toUvEnvironment(
  { indexUrl, extraIndexUrls, findLinks, certificates }: PipSettings,
  environment: Environment,
): Environment {
  return {
    ...(indexUrl === pypi ? {} : { UV_DEFAULT_INDEX: indexUrl }),
    ...(extraIndexUrls.length === 0 ? {} : { UV_INDEX: extraIndexUrls.join(' ') }),
    ...(findLinks.length === 0 ? {} : { UV_FIND_LINKS: findLinks.join(',') }),
    ...(certificates === null ? {} : { SSL_CERT_FILE: certificates }),
    ...environment,
  }
}
