import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import { readNotifications, turnOffNotifications, turnOnNotifications } from '../../domain/notifications.ts'
import { text } from '../../text/index.ts'

const words = text.news

/** Turns notifications of this browser on and off. */
export function NotificationsSection() {
  const [state, setState] = useState(readNotifications)
  return (
    <Section title={words.notifications} description={words.notificationsDescription}>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        {state === 'on' ? (
          <Button onClick={() => setState(turnOffNotifications())}>{words.turnOff}</Button>
        ) : state === 'off' ? (
          <Button onClick={() => void turnOnNotifications().then(setState)}>{words.turnOn}</Button>
        ) : null}
        <p role="status" className="text-muted">
          {state === 'off' ? '' : words[state]}
        </p>
      </div>
    </Section>
  )
}
