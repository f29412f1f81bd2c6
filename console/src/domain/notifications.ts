import { browserStorage } from '../browser.ts'

const key = 'berth.notifications'

/** `insecure`: browsers have no notifications of sites without TLS. */
export type NotificationState = 'on' | 'off' | 'refused' | 'insecure'

/** Whether this browser shows notifications, without asking. */
export function readNotifications(): NotificationState {
  if (!('Notification' in globalThis) || !isSecureContext) return 'insecure'
  if (Notification.permission === 'denied') return 'refused'
  return Notification.permission === 'granted' && browserStorage.read(key) === 'on' ? 'on' : 'off'
}

/** Asks the person for the permission, unless they gave it before. Only a click may call this. */
export async function turnOnNotifications(): Promise<NotificationState> {
  browserStorage.write(key, 'on')
  await Notification.requestPermission()
  return readNotifications()
}

export function turnOffNotifications(): NotificationState {
  browserStorage.remove(key)
  return readNotifications()
}

/** Shows a notification of the browser if the person turned them on; a later one of `tag` replaces it. */
export function showNotification(message: string, tag: string, onClick: () => void): void {
  if (readNotifications() !== 'on') return
  try {
    const notification = new Notification(message, { tag, icon: '/favicon.svg' })
    notification.addEventListener('click', () => {
      window.focus()
      notification.close()
      onClick()
    })
  } catch {
    // Chromium on Android has the class, but throws.
  }
}
