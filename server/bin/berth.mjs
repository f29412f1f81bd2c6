#!/usr/bin/env node
// Usage: berth.mjs [settings file]. Plain JavaScript, so that older versions of Node get as far as the check.
import './check-node.mjs'
import cluster from 'node:cluster'
import { readdirSync } from 'node:fs'
import module from 'node:module'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'

// `npm start` passes --no-memory-reducer, which can't be set at run time. Without it, V8 discards optimized
// code in quiet seconds, and the next burst costs twice as much. A limit of zero collections has the same
// effect for those who start this file directly.
setFlagsFromString('--memory-reducer-gc-count=0')

// `npm start` passes `.env`. A test that starts this file directly passes nothing, so a developer's settings
// can't affect it. Variables in the environment take precedence. Child processes of an API inherit the
// settings.
const settingsFile = process.argv[2]
if (settingsFile !== undefined && cluster.isPrimary) {
  try {
    process.loadEnvFile(settingsFile)
  } catch (error) {
    if (error.code !== 'ENOENT') {
      process.stderr.write(
        `Berth can't run: could not read the settings file ${settingsFile}: ${error.message}\n`,
      )
      process.exit(1)
    }
  }
}

// Compiled code halves the time of a start. A new DATA_DIR stays empty until the server has checked it.
const dataDirectory = process.env.DATA_DIR || './data'
if (isUsed(dataDirectory)) module.enableCompileCache(join(dataDirectory, 'compile-cache', 'node'))

if (!['worker', 'migrate'].includes(process.env.ROLE ?? '')) {
  const { buildConsole } = await import('../../scripts/build-console.ts')
  buildConsole()
}
await import('../src/process/main.ts')

function isUsed(directory) {
  try {
    return readdirSync(directory).length > 0
  } catch {
    // The server reports what is wrong with it.
    return false
  }
}
