// Signs in through a real Keycloak, which Maven downloads (about 180 MB). Needs Java 17 or later and Maven.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import getPort from 'get-port'
import { findCacheFolder, runCommand } from '../../tools/programs.ts'
import { runSuite, waitForUrl } from './suite.ts'

const version = '26.7.3'

await runSuite('keycloak', async (cleanUps) => {
  const folder = findCacheFolder(`keycloak-${version}`)
  const program = join(folder, `keycloak-${version}/bin/kc.sh`)
  if (!existsSync(program)) {
    const artifact = `-Dartifact=org.keycloak:keycloak-quarkus-dist:${version}:zip`
    await runCommand('mvn', [
      '--batch-mode',
      '--no-transfer-progress',
      'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack',
      artifact,
      `-DoutputDirectory=${folder}`,
      // Where the plugin notes what it unpacked; without a project it would be a folder with a literal `$`.
      `-Dproject.basedir=${folder}`,
    ])
  }
  const port = await getPort({ host: '127.0.0.1' })
  const address = `http://127.0.0.1:${port}`
  const args = ['start-dev', '--db=dev-mem', '--http-host=127.0.0.1', `--http-port=${port}`]
  const keycloak = spawn('bash', [program, ...args], {
    stdio: 'ignore',
    // A separate group, because the script starts Java.
    detached: true,
    env: {
      ...process.env,
      KC_BOOTSTRAP_ADMIN_USERNAME: 'admin',
      KC_BOOTSTRAP_ADMIN_PASSWORD: 'admin',
      JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx512m',
    },
  })
  cleanUps.push(() => void (keycloak.exitCode === null && process.kill(-keycloak.pid!)))
  await waitForUrl(`${address}/realms/master`, 300)
  await runCommand('vitest', ['run', '--project', 'keycloak'], { TEST_KEYCLOAK: address })
})
