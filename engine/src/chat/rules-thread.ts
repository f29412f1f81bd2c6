import { serveJobs } from '@berth/grammar/deadline-worker.ts'
import { writeAnyRules } from './write-rules.ts'

serveJobs(writeAnyRules)
