import { defineConfig } from 'vitest/config'
import type { TestProjectInlineConfiguration } from 'vitest/config'
import { LongestFirst } from './server/test/support/longest-first.ts'

const services = { globalSetup: ['server/test/support/global-setup.ts'] }
const withCommandLine = [...services.globalSetup, 'cli/test/support/build.ts']

/** Kill -9, random histories, matrices of faults, SDKs: `npm run test:slow` runs them, `npm test` doesn't. */
const slow = '**/*.slow.test.ts'

/** For tests that share a machine with others and wait for other processes */
const system = {
  // Servers keep no state in modules, so tests that start them do neither.
  isolate: false,
  // More than two cores' worth, because many tests wait for other processes or a browser
  maxWorkers: 3,
  sequence: { groupOrder: 1 },
}

/**
 * A project that `npm test` leaves out, because its tests need the component that `npm run test:<name>`
 * provides.
 */
function onRealComponent(
  name: string,
  include: string[],
  setup: string[] = [],
): TestProjectInlineConfiguration {
  return {
    test: {
      name,
      include,
      globalSetup: [...services.globalSetup, ...setup],
      expect: { poll: { timeout: 30_000 } },
      // Losing an engine four times takes eight minutes.
      testTimeout: 900_000,
      hookTimeout: 900_000,
      maxWorkers: 1,
      sequence: { groupOrder: 2 },
    },
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          // Unit tests keep no state between files; loading every module again would take longer than the
          // tests.
          isolate: false,
          // Generous, for properties on a busy machine
          testTimeout: 30_000,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
          include: [
            'server/src/**/*.test.ts',
            'engine/src/**/*.test.ts',
            'grammar/src/**/*.test.ts',
            'payment-sandbox/src/**/*.test.ts',
            'cli/src/**/*.test.ts',
            'console/src/**/*.test.ts',
            'bench/*.test.ts',
            'scripts/**/*.test.ts',
          ],
        },
      },
      {
        test: {
          name: 'system',
          include: [
            'server/test/**/*.test.ts',
            'engine/test/**/*.test.ts',
            'payment-sandbox/test/**/*.test.ts',
            'cli/test/**/*.test.ts',
          ],
          exclude: [
            slow,
            'server/test/kubernetes/{cluster,nodes}/**',
            'server/test/keycloak/**',
            'server/test/xinference/real/**',
            'server/test/clients/**',
            'server/test/vllm/**',
            'server/test/llama-cpp/**',
            'server/test/gpu/**',
            'server/test/hub/**',
            'server/test/endpoints/**',
            'server/test/runtimes/**',
            'server/test/model-store/**',
            'engine/test/{models,templates}/**',
          ],
          globalSetup: withCommandLine,
          expect: { poll: { timeout: 30_000 } },
          // Generous, for tests that start several servers on a busy machine
          testTimeout: 120_000,
          hookTimeout: 120_000,
          ...system,
        },
      },
      {
        test: {
          name: 'console',
          include: ['console/test/**/*.test.ts'],
          exclude: [slow],
          ...services,
          expect: { poll: { timeout: 60_000 } },
          testTimeout: 240_000,
          hookTimeout: 300_000,
          ...system,
        },
      },
      {
        test: {
          name: 'slow',
          include: [slow],
          globalSetup: withCommandLine,
          expect: { poll: { timeout: 60_000 } },
          testTimeout: 300_000,
          hookTimeout: 300_000,
          ...system,
        },
      },
      onRealComponent('clients', ['server/test/clients/**/*.test.ts'], ['cli/test/support/build.ts']),
      onRealComponent('endpoints', ['server/test/endpoints/**/*.test.ts']),
      onRealComponent('hub', ['server/test/hub/**/*.test.ts']),
      onRealComponent('gpu', ['server/test/gpu/**/*.test.ts']),
      onRealComponent('keycloak', ['server/test/keycloak/**/*.test.ts']),
      onRealComponent('kubernetes', ['server/test/kubernetes/{cluster,nodes}/**/*.test.ts']),
      onRealComponent('models', ['engine/test/models/**/*.test.ts']),
      onRealComponent('model-store', ['server/test/model-store/**/*.test.ts']),
      onRealComponent('runtimes', ['server/test/runtimes/**/*.test.ts']),
      onRealComponent('templates', ['engine/test/templates/**/*.test.ts']),
      onRealComponent('llama-cpp', ['server/test/llama-cpp/**/*.test.ts']),
      onRealComponent('vllm', ['server/test/vllm/**/*.test.ts']),
      onRealComponent('xinference', ['server/test/xinference/real/**/*.test.ts']),
    ],
  },
})
