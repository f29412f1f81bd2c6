import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import getPort from 'get-port'
import { listFamily, startProgram, waitForPort } from '../processes.ts'
import type { Running, Surroundings } from '../target.ts'

/** nginx as documented for proxies with keep-alive: one worker, and no buffering on the stream port. */
export async function startNginx({
  cores,
  folder,
  upstreamPort,
  cleanup,
}: Surroundings): Promise<() => Promise<Running>> {
  return async () => {
    const ports = {
      whole: await getPort({ host: '127.0.0.1' }),
      stream: await getPort({ host: '127.0.0.1' }),
    }
    const home = join(folder, `nginx-${ports.whole}`)
    await mkdir(home)
    await writeFile(join(home, 'nginx.conf'), compose(home, ports, upstreamPort))
    const program = startProgram({
      name: 'nginx',
      core: cores.gateway,
      folder,
      cleanup,
      command: 'nginx',
      args: ['-p', home, '-e', 'stderr', '-c', join(home, 'nginx.conf')],
    })
    await waitForPort(program, ports.stream)
    let pids = listFamily(program.pid)
    for (; pids.length < 2; pids = listFamily(program.pid)) await delay(20)
    return { pids, ports, headers: {}, stop: () => program.stop() }
  }
}

function compose(home: string, ports: { whole: number; stream: number }, upstreamPort: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `  ${kind}_temp_path ${join(home, kind)};`)
    .join('\n')
  return `daemon off;
pid ${join(home, 'nginx.pid')};
error_log stderr error;
worker_processes 1;
worker_rlimit_nofile 20000;
events { worker_connections 16384; }
http {
${temporary}
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  tcp_nodelay on;
  client_max_body_size 32m;
  client_body_buffer_size 256k;
  upstream engine {
    server 127.0.0.1:${upstreamPort};
    keepalive 256;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
  }
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_read_timeout 300s;
  # A response of 100 KB fits, and nginx writes no file.
  proxy_buffers 16 16k;
  proxy_buffer_size 16k;
  server {
    listen 127.0.0.1:${ports.whole} backlog=4096;
    location / { proxy_pass http://engine; }
  }
  server {
    listen 127.0.0.1:${ports.stream} backlog=4096;
    location / { proxy_pass http://engine; proxy_buffering off; }
  }
}
`
}
