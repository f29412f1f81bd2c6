import { defineConfig } from 'vitest/config'

// These tests need an installed vLLM: run `npm run test:vllm`.
export default defineConfig({
  test: {
    name: 'vllm',
    include: ['server/test/vllm/**/*.test.ts'],
    globalSetup: ['server/test/support/global-setup.ts'],
    expect: { poll: { timeout: 30_000 } },
    testTimeout: 900_000,
    hookTimeout: 900_000,
    maxWorkers: 1,
  },
})
