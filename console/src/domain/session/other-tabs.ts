/** A change to the session that all tabs of a browser share. */
export type SessionChange = 'ended' | 'switched'

let channel: BroadcastChannel | undefined
const openChannel = () => (channel ??= new BroadcastChannel('session'))

/** Notifies the browser's other tabs of a sign-out or an organization switch in this tab. */
export function notifyOtherTabs(change: SessionChange) {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a BroadcastChannel is limited to one origin
  openChannel().postMessage(change)
}

/** Calls `onChange` when another tab signs out or switches organizations. */
export function listenToOtherTabs(onChange: (change: SessionChange) => void) {
  openChannel().addEventListener('message', ({ data }: MessageEvent<SessionChange>) => onChange(data))
}
