import type { PaymentSandbox } from '@berth/payment-sandbox'
import type { SessionCache } from '../features/sessions/session-cache.ts'
import type { Inference } from '../features/inference/sending/inference.ts'
import type { TokenJournal } from '../features/metering/token-journal.ts'
import type { Services } from '../services.ts'

/** One running server: the services and the state that features own. */
export interface Application extends Services {
  sessions: SessionCache
  inference: Inference
  tokens: TokenJournal
  /** null when payments go through Stripe */
  paymentSandbox: PaymentSandbox | null
  /** Fires when the database or the lock on DATA_DIR is lost; the process must exit. */
  lost: AbortSignal
  /** Closes everything in the reverse order of opening. Engines keep running. */
  close(): Promise<void>
}
