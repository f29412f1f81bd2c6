import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Running, Surroundings } from '../target.ts'
import { preparePeer } from './peer.ts'

const folderOfPeers = resolve(import.meta.dirname, '..')
const program = join(folderOfPeers, 'node_modules/@portkey-ai/gateway/build/start-server.js')

/** Portkey's gateway from npm. Its OpenAI provider points to the upstream. */
export async function startPortkey(around: Surroundings): Promise<() => Promise<Running>> {
  if (!existsSync(program)) {
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: folderOfPeers,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  }
  return preparePeer(around, {
    name: 'portkey',
    command: process.execPath,
    env: { NODE_ENV: 'production' },
    args: (port) => [program, '--headless', `--port=${port}`],
    headers: {
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${around.upstreamPort}/v1`,
      authorization: 'Bearer key',
    },
  })
}

/** The versions of the gateway and of the packages that are pinned for it. */
export function readPortkeyVersion(): string {
  const text = readFileSync(join(folderOfPeers, 'package.json'), 'utf8')
  const { dependencies, overrides } = JSON.parse(text) as Record<string, Record<string, string>>
  return Object.entries({ ...dependencies, ...overrides })
    .map(([name, version]) => `${name} ${version}`)
    .join(', ')
}
