// Parts of the console that are loaded when they are needed. A part is missing after an upgrade of the server: its files have
// other names now, and only a reload of the page finds them.

class Parts {
  /** The server has a newer version of the console than this tab. */
  isOld = $state(false);

  /** The part, or a promise that stays open: the frame offers to reload. */
  load<T>(part: Promise<T>): Promise<T> {
    return part.catch(() => {
      this.isOld = true;
      return new Promise<T>(() => undefined);
    });
  }
}

export const parts = new Parts();
