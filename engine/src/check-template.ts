// Renders the chat templates on standard input as a loading engine does. See engine/README.md.
import { json } from 'node:stream/consumers'
import { rendersTooLong } from './template/render-once.ts'
import type { Templates } from './template/render-once.ts'

const exitTooLong = 1

if (rendersTooLong((await json(process.stdin)) as Templates)) process.exit(exitTooLong)
