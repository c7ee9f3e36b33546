// Whether the service can be reached. After a failed call the state is checked again until a call succeeds.
import type { Network } from './http.ts';

const CHECK_MS = 5000;

class Connection implements Network {
  isUp = $state(navigator.onLine);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    addEventListener('offline', () => this.report(false));
    addEventListener('online', () => void this.check());
  }

  isDown(): boolean {
    return !this.isUp;
  }

  report(isUp: boolean): void {
    // An answer that was on its way says nothing about a connection that the browser has lost.
    this.isUp = isUp && navigator.onLine;
    clearTimeout(this.#timer);
    if (!isUp) this.#timer = setTimeout(() => void this.check(), CHECK_MS);
  }

  async check(): Promise<void> {
    this.report(await fetch('/healthz', { cache: 'no-store', credentials: 'omit' }).then((response) => response.ok, () => false));
  }
}

export const connection = new Connection();
